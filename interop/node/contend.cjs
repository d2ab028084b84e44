// SPDX-License-Identifier: Apache-2.0
//
// node-redlock as one more that wants the lock: contend.cjs PORT[,PORT...] NAME DIRECTORY ROUNDS. What is done inside is the same
// as in ../section, which says why.
const fs = require("fs");
const Redis = require("ioredis").default;
const { default: Redlock, ExecutionError } = require("redlock");

const [ports, name, directory, rounds] = process.argv.slice(2);
const inside = directory + "/inside";
const counter = directory + "/counter";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function section() {
  try {
    fs.mkdirSync(inside);
  } catch (error) {
    fs.appendFileSync(directory + "/broken", "node-redlock found another inside\n");
    return;
  }
  const before = Number(fs.readFileSync(counter, "utf8"));
  await sleep(1);
  fs.writeFileSync(counter, before + 1 + "\n");
  fs.appendFileSync(directory + "/entered", "node-redlock\n");
  fs.rmdirSync(inside);
}

// It has a loop of its own, but between two attempts of that loop it keeps the votes it got, and its script then refuses them to
// itself: of several who split the votes nobody would get a majority before the ttl is over. A call that makes one attempt gives
// them back.
async function acquire(redlock) {
  for (;;) {
    try {
      return await redlock.acquire([name], 10_000);
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error;
      await sleep(10 * Math.random());
    }
  }
}

async function main() {
  const servers = ports.split(",").map((port) => new Redis(Number(port), "127.0.0.1"));
  const redlock = new Redlock(servers, { retryCount: 0 });
  // A server that does not know the script yet gets it with a second request, which the release could overtake: the key would stay.
  for (const server of servers) {
    for (const script of Object.values(redlock.scripts)) await server.script("LOAD", script.value);
  }
  for (let i = 0; i < Number(rounds); ++i) {
    const lock = await acquire(redlock);
    await section();
    await lock.release();
    await sleep(10 * Math.random()); // who comes back at once takes it again and again, and nobody contends
  }
  await redlock.quit();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
