-- Whether a model knows the language of the texts, in place of the weight of its vectors. It is judged at the next indexing.
ALTER TABLE papertape.meta DROP COLUMN weight;
ALTER TABLE papertape.meta DROP COLUMN calibrated_on;
ALTER TABLE papertape.meta ADD COLUMN knows_language boolean;
ALTER TABLE papertape.meta ADD COLUMN judged_on bigint; -- how many chunks there were then
