module example.com/set-fields

go 1.21
