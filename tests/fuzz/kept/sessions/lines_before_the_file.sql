UPDATE code SET first_line = -5 WHERE rowid % 2 = 0;
UPDATE code SET first_line = -9223372036854775808 WHERE rowid % 2 = 1;
