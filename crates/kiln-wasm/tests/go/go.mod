module example.com/test-function

go 1.21
