"""agent-coordinator's way: the SQL of its acquire_lock and release_lock behind FastAPI and asyncpg.

Without what it does besides: policy, audit rows, API keys.
"""
import sys

import asyncpg
import fastapi
import pydantic
import uvicorn

FOLDER, PORT = sys.argv[1], int(sys.argv[2])

EXPIRED = "DELETE FROM file_locks WHERE expires_at < now()"
ACQUIRE = """
  INSERT INTO file_locks (file_path, locked_by, agent_type, session_id, expires_at, reason)
  VALUES ($1, $2, $3, $4, now() + make_interval(mins => $5), $6)
  ON CONFLICT (file_path) DO NOTHING RETURNING expires_at"""
RELEASE = "DELETE FROM file_locks WHERE file_path = $1 AND locked_by = $2"

app = fastapi.FastAPI()


class Acquire(pydantic.BaseModel):
    file_path: str
    agent_id: str
    agent_type: str
    session_id: str | None = None
    reason: str | None = None
    ttl_minutes: int = 30


class Release(pydantic.BaseModel):
    file_path: str
    agent_id: str


@app.on_event("startup")
async def connect():
    app.state.pool = await asyncpg.create_pool(
        host=FOLDER,
        user="postgres",
        database="postgres",
        min_size=4,
        max_size=10,
        server_settings={"synchronous_commit": "off"},
    )


@app.post("/locks/acquire")
async def acquire(wanted: Acquire):
    async with app.state.pool.acquire() as connection, connection.transaction():
        await connection.execute(EXPIRED)
        row = await connection.fetchrow(
            ACQUIRE,
            wanted.file_path,
            wanted.agent_id,
            wanted.agent_type,
            wanted.session_id,
            wanted.ttl_minutes,
            wanted.reason,
        )
    if row is None:
        return {"success": False, "reason": "locked_by_other"}
    return {"success": True, "action": "acquired", "expires_at": row["expires_at"]}


@app.post("/locks/release")
async def release(wanted: Release):
    async with app.state.pool.acquire() as connection:
        done = await connection.execute(RELEASE, wanted.file_path, wanted.agent_id)
    return {"success": done == "DELETE 1", "action": "released"}


uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="error", access_log=False)
