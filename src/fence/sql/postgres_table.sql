-- writes grows with each pass, so that each changes the row, an equal token's too: a transaction at REPEATABLE READ or above whose
-- snapshot is older than the last pass is then told to begin again. Names are compared by their bytes.
CREATE TABLE IF NOT EXISTS {table} (
  resource text COLLATE "C" PRIMARY KEY,
  token bigint NOT NULL CHECK (token > 0),
  writes bigint NOT NULL
)
