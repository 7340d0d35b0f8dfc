// One user of proper-lockfile: takes and frees each path that it is told on stdin, one per line, and
// answers with the nanoseconds that took, as it saw them.
'use strict';
const [, , modules, folder] = process.argv;
const lockfile = require(`${modules}/proper-lockfile`);
const path = require('path');
const readline = require('readline');

async function pair(name) {
  const began = process.hrtime.bigint();
  const release = await lockfile.lock(path.join(folder, name), { realpath: false });
  await release();
  return process.hrtime.bigint() - began;
}

async function main() {
  process.stdout.write('ready\n');
  for await (const name of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${await pair(name)}\n`);
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
