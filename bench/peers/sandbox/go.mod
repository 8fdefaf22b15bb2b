module kiln/bench/sandbox

go 1.24
