"""Files: specs of frozen objects out and in, releases, signatures, tables of data beside them."""
