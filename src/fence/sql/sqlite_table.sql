-- {table} is the table's name, quoted. writes grows with each pass, so that each changes the row, an equal token's too.
CREATE TABLE IF NOT EXISTS {table} (
  resource TEXT PRIMARY KEY,
  token INTEGER NOT NULL CHECK (token > 0),
  writes INTEGER NOT NULL
) STRICT, WITHOUT ROWID
