// SPDX-License-Identifier: Apache-2.0
//
// node-redlock as one more that wants the lock: contend.cjs PORT NAME DIRECTORY ROUNDS. What is done inside is the same as in
// ../section, which says why.
const fs = require("fs");
const Redis = require("ioredis").default;
const Redlock = require("redlock").default;

const [port, name, directory, rounds] = process.argv.slice(2);
const inside = directory + "/inside";
const counter = directory + "/counter";

async function section() {
  try {
    fs.mkdirSync(inside);
  } catch (error) {
    fs.appendFileSync(directory + "/broken", "node-redlock found another inside\n");
    return;
  }
  const before = Number(fs.readFileSync(counter, "utf8"));
  await new Promise((resolve) => setTimeout(resolve, 1));
  fs.writeFileSync(counter, before + 1 + "\n");
  fs.rmdirSync(inside);
}

async function main() {
  const redis = new Redis(Number(port), "127.0.0.1");
  const redlock = new Redlock([redis], { retryCount: -1, retryDelay: 5, retryJitter: 5 });
  for (let i = 0; i < Number(rounds); ++i) {
    const lock = await redlock.acquire([name], 10_000);
    await section();
    await lock.release();
  }
  await redis.quit();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
