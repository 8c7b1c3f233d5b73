"""Files: problem files in, specs of frozen objects out and in, tables of data beside them."""
