// The module of examples/node, in a repository where ann holds `taken`. Says "ok".
'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { setTimeout } = require('node:timers/promises');
const lockkeeper = require(process.env.LOCKKEEPER_MODULE);

function commandLine(...words) {
  const env = { ...process.env, LOCKKEEPER_AGENT: 'lead' };
  return spawnSync(process.env.LOCKKEEPER, words, { env }).status;
}

async function refused(code, call) {
  try {
    await call();
  } catch (error) {
    assert.equal(error.code, code, error.message);
    return error;
  }
  throw new Error(`not refused: ${code}`);
}

async function main() {
  const realm = lockkeeper.open({ agent: 'js' });
  const other = lockkeeper.open({ agent: 'js' });
  assert.equal((await realm.whoami()).agent, 'js');

  // Refusals, in the words and the JSON of the command line.
  const held = await refused('held', () => realm.acquire(['taken', 'free']));
  assert.equal(held.answer.conflicts[0].agent, 'ann');
  assert.match(held.message, /a rewrite/);
  assert.ok(held.hint);
  await refused('held', () => realm.check(['taken']));
  await refused('timeout', () => realm.acquire(['taken'], { waitMs: 1 }));
  await refused('invalid_resource', () => realm.acquire(['../outside']));
  await refused('usage', () => realm.acquire([]));
  await refused('invalid_input', async () => lockkeeper.open({ agent: 'a\nb' }));

  // Both ways.
  const lease = await realm.acquire(['src/'], { reason: 'größer', ttlMs: lockkeeper.FOREVER });
  assert.equal(lease.answer.lease.reason, 'größer');
  assert.equal(lease.id.length, 32);
  await lease.check();
  assert.equal(lease.lost, false);
  assert.ok((await realm.check(['src/a.py'], { fence: lease.fence })).mine);
  await refused('held', () => other.acquire(['src/a.py']));
  assert.equal(commandLine('acquire', 'src/a.py'), 75);
  assert.equal((await realm.renew(['src/']))[0].id, lease.id);
  assert.equal((await realm.list({ agent: 'js' })).leases.length, 1);

  // While one waits, the event loop runs; a release hands over.
  let turns = 0;
  const timer = setInterval(() => ++turns, 1);
  const next = other.acquire(['src/'], { waitMs: lockkeeper.FOREVER });
  while ((await realm.list()).waiters.length === 0);
  await lease.release();
  await (await next).close();
  clearInterval(timer);
  await refused('usage', () => lease.check());

  const cancel = new lockkeeper.Cancel();
  const waiting = refused('failed', () => realm.acquire(['taken'], { waitMs: -1, cancel }));
  while ((await realm.list()).waiters.length === 0);
  cancel.request();
  assert.equal((await waiting).answer.outcome, 'interrupted');
  cancel.free();

  const lost = await realm.acquire(['a']);
  assert.equal(commandLine('break', '--lease', lost.id, '--reason', 'taking over'), 0);
  while (!lost.lost) await setTimeout(5);
  assert.match((await refused('lost', () => lost.check())).message, /taking over/);
  await lost.close();

  assert.equal(commandLine('acquire', 'c'), 0);
  const [{ id }] = (await realm.list({ agent: 'lead' })).leases;
  assert.equal((await realm.breakLease(id, 'not needed'))[0].agent, 'lead');
  await realm.close();
  await other.close();
  console.log('ok');
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
