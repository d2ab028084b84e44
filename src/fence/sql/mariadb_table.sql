-- writes: see postgres_table. Other engines know no transactions. Names are compared by their bytes, trailing blanks too.
CREATE TABLE IF NOT EXISTS {table} (
  resource VARBINARY(512) NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL CHECK (token > 0),
  writes BIGINT NOT NULL
) ENGINE=InnoDB
