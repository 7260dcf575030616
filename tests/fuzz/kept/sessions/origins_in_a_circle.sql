INSERT INTO link(origin, derived) SELECT n.id, k.id FROM node n, kernel k LIMIT 2000;
INSERT INTO link(origin, derived) SELECT a.id, b.id FROM node a, node b LIMIT 20000;
