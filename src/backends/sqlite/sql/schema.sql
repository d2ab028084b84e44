-- The whole database, format 1. Times are nanoseconds of the boot's clock, tokens microseconds of the wall clock.
CREATE TABLE store (                  -- one row
  id INTEGER PRIMARY KEY CHECK (id = 1),
  uuid BLOB NOT NULL,                 -- this database, and no copy made anew under the same name
  boot BLOB NOT NULL,                 -- the boot of the kernel in which tokens were given last
  raised INTEGER NOT NULL,            -- no token above this was ever given; synced before
  mark INTEGER NOT NULL,              -- this is set to it, up to which tokens are given
  floor INTEGER NOT NULL,             -- no token at or below this is given again, whatever the lock
  swept TEXT NOT NULL                 -- up to which name idle locks have been cleared away
) STRICT;

CREATE TABLE lock (
  name TEXT PRIMARY KEY,
  token INTEGER NOT NULL,             -- the highest that was given for this lock
  tickets INTEGER NOT NULL,           -- the next in the order of arrival
  owner BLOB,                         -- who holds it; null: nobody
  seq INTEGER NOT NULL,               -- with owner the version of the hold; grows with each renewal
  ttl INTEGER NOT NULL,               -- milliseconds
  host TEXT NOT NULL, pid INTEGER NOT NULL, user TEXT NOT NULL, label TEXT NOT NULL, since INTEGER NOT NULL,
  life INTEGER NOT NULL,              -- the holder's byte of the live file,
  place BLOB NOT NULL,                -- and the kernel and the file for which that means something
  freed INTEGER NOT NULL,             -- when it was freed last; while held: when it was granted or renewed last
  dead BLOB NOT NULL,                 -- owners that held it and are over, the latest first, 20 bytes each
  gone BLOB NOT NULL                  -- owners that left without having held it
) WITHOUT ROWID, STRICT;

CREATE TABLE waiter (
  name TEXT NOT NULL,
  missed INTEGER NOT NULL,            -- let its claim time pass: out of the reckoning until it asks again
  ticket INTEGER NOT NULL,
  owner BLOB NOT NULL,
  lease_end INTEGER NOT NULL,         -- asks before this, or has left
  host TEXT NOT NULL, pid INTEGER NOT NULL, user TEXT NOT NULL, label TEXT NOT NULL, since INTEGER NOT NULL,
  life INTEGER NOT NULL,
  place BLOB NOT NULL,
  PRIMARY KEY (name, missed, ticket)
) WITHOUT ROWID, STRICT;
CREATE UNIQUE INDEX waiter_owner ON waiter (name, owner);
