UPDATE segment SET frame = (SELECT id FROM compilation LIMIT 1);
