INSERT INTO link(origin, derived) SELECT derived, origin FROM link;
UPDATE recompilation SET previous = compilation;
UPDATE graph_break SET next_segment = (SELECT id FROM segment LIMIT 1);
UPDATE edge SET dst = src;
