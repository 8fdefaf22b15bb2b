module example.com/NAME

go 1.21
