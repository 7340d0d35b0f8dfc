// The shared worker: one stream for all tabs of a browser that show the same realm with the same
// token. A browser opens at most six connections to a server that speaks HTTP/1.1.
import { Keeper } from "./keeper.js";

const rooms = new Map();

function enter(port, { token, realm, lock }) {
  const name = `${realm}\n${token}`;
  if (!rooms.has(name)) {
    const ports = new Set();
    const keeper = new Keeper({
      token,
      realm,
      tell: (news) => {
        for (const each of ports) each.postMessage(news);
        if (news.phase?.name === "denied") rooms.delete(name);
      },
    });
    rooms.set(name, { ports, keeper });
    keeper.run();
  }
  const room = rooms.get(name);
  room.ports.add(port);
  port.postMessage(room.keeper.everything());
  const leave = () => {
    room.ports.delete(port);
    if (room.ports.size > 0) return;
    room.keeper.end();
    if (rooms.get(name) === room) rooms.delete(name);
  };
  // A tab holds its lock as long as it lives, also if it crashes.
  if (lock && navigator.locks) navigator.locks.request(lock, leave);
  return {
    leave,
    sync: () => room.keeper.syncSoon(0),
    look: () => room.keeper.look().catch(() => {}),
  };
}

self.onconnect = ({ ports: [port] }) => {
  let seat = null;
  port.onmessage = ({ data }) => {
    if (data.what === "enter") {
      seat?.leave();
      seat = enter(port, data);
    }
    if (data.what === "leave") seat?.leave();
    if (data.what === "look") {
      seat?.sync();
      seat?.look();
    }
  };
};
