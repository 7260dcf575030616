UPDATE stage SET note = replace(hex(zeroblob(20000)), '00', 'a' || char(10));
UPDATE node SET name = replace(hex(zeroblob(20000)), '00', 'a' || char(10)) WHERE rowid % 2 = 1;
