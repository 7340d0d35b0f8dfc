// Another tool's directory lock, written only from the protocol's description: one file per working directory in
// the folder for temporary files, created with O_EXCL, judged by its three staleness rules.
//
//   node dirlock_foreign.js once  OUT          take or refuse, then wait for OUT/stop, release
//   node dirlock_foreign.js loop  OUT ROUNDS   by creation alone, again and again, with an oracle
//   node dirlock_foreign.js steal OUT          remove what is there by its name, take, as once
const crypto = require('crypto');
const fs = require('fs');
const os = require('os');
const path = require('path');

const [mode, out, rounds] = process.argv.slice(2);
const cwd = process.cwd();
const file = path.join(
    os.tmpdir(), 'agent-dir-' + crypto.createHash('sha256').update(cwd).digest('hex') + '.lock');

function sleep(ms) { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms); }

function create() {
  const content = {
    pid: process.pid,
    cwd,
    startTime: new Date().toISOString(),
    hostname: os.hostname(),
    agents: ['foreign'],
  };
  try {
    fs.writeFileSync(file, JSON.stringify(content, null, 2), {flag: 'wx'});
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

// The three rules.
function acquire() {
  for (;;) {
    if (create()) return true;
    let holder;
    try {
      holder = JSON.parse(fs.readFileSync(file, 'utf-8'));
    } catch (error) {
      if (error.code === 'ENOENT') continue;
      throw error;
    }
    const old = Date.now() - new Date(holder.startTime).getTime() > 20 * 60000;
    if (alive(holder.pid) && !old) {
      console.error(`[LOCK] Lock held by PID ${holder.pid} (${holder.agents.join(', ')})`);
      return false;
    }
    fs.unlinkSync(file);
  }
}

function hold() {
  fs.writeFileSync(path.join(out, 'held'), String(process.pid));
  while (!fs.existsSync(path.join(out, 'stop'))) sleep(5);
  const holder = JSON.parse(fs.readFileSync(file, 'utf-8'));
  if (holder.pid === process.pid) fs.unlinkSync(file);
}

if (mode === 'loop') {
  let entered = 0;
  while (entered < Number(rounds) && !fs.existsSync(path.join(out, 'stop'))) {
    if (!create()) {
      sleep(1);
      continue;
    }
    ++entered;
    try {
      fs.mkdirSync(path.join(out, 'inside'));
      sleep(2);
      fs.rmdirSync(path.join(out, 'inside'));
    } catch (error) {
      fs.appendFileSync(path.join(out, 'overlaps'), `foreign ${error.code}\n`);
    }
    fs.unlinkSync(file);
    sleep(3);
  }
  fs.writeFileSync(path.join(out, 'foreign-entered'), String(entered));
} else {
  if (mode === 'steal') fs.rmSync(file, {force: true});
  if (!acquire()) process.exit(1);
  hold();
}
