// Counts in a file that several processes share: node counter.js FILE TIMES
//
// Start several at once, and those in other languages too: none of the additions is lost, whoever
// is killed in between.
'use strict';

const fs = require('node:fs');
const lockkeeper = require('./lockkeeper.js');

function addOne(path) {
  const number = fs.existsSync(path) ? Number(fs.readFileSync(path, 'utf8')) : 0;
  fs.writeFileSync(`${path}.new`, `${number + 1}\n`);
  fs.renameSync(`${path}.new`, path); // whole or not at all
}

async function main(path, times) {
  const realm = lockkeeper.open({ agent: 'counter' });
  for (let i = 0; i < times; ++i) {
    const lease = await realm.acquire([path], { waitMs: 60000, ttlMs: 30000, reason: 'counting' });
    try {
      await lease.check(); // right before what the lock guards: is it still ours?
      addOne(path);
    } finally {
      await lease.close();
    }
  }
  await realm.close();
  console.log(`${path}: added ${times}`);
}

if (process.argv.length !== 4) {
  console.error('usage: node counter.js FILE TIMES');
  process.exit(64);
}
main(process.argv[2], Number(process.argv[3])).catch((error) => {
  console.error(`counter: ${error.message}\n  hint: ${error.hint ?? ''}`);
  process.exitCode = 1;
});
