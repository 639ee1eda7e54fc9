module example.org/stacks

go 1.18
