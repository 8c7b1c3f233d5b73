"""The families of mechanisms, one file each: `formulate` the program, hand it to a solver, `recover` the mechanism."""
