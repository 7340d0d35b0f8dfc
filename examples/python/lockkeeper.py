"""Lockkeeper for Python: the C API through ctypes. Standard library alone, one file to copy.

    with lockkeeper.Realm(agent="indexer") as realm:
        with realm.acquire(["src/auth/"], wait=60, reason="JWT refresh") as lease:
            lease.check()  # right before what the lock guards
            work()

Calls release the GIL, so a wait keeps no other thread from running. Every failure is an Error, which
has the code of the command line and the JSON of the answer.
"""

import ctypes
import json
import os

_c = ctypes.CDLL(os.environ.get("LOCKKEEPER_LIBRARY", "liblockkeeper.so.0"))

FOREVER = -1  # as `wait` or `ttl`
_OK = 0
_SHARED, _ALL = 1, 2

_Handle = ctypes.c_void_p
_OnLost = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _Handle)


class _Options(ctypes.Structure):
    """Texts are encoded, and struct_size is filled in."""

    def __init__(self, **fields):
        encoded = {k: v.encode() if isinstance(v, str) else v for k, v in fields.items()}
        super().__init__(struct_size=ctypes.sizeof(self), **encoded)


class _OpenOptions(_Options):
    _fields_ = [("struct_size", ctypes.c_size_t), ("path", ctypes.c_char_p),
                ("store", ctypes.c_char_p), ("agent", ctypes.c_char_p),
                ("session", ctypes.c_char_p)]


class _AcquireOptions(_Options):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_uint64),
                ("wait_ms", ctypes.c_int64), ("ttl_ms", ctypes.c_int64),
                ("reason", ctypes.c_char_p), ("task", ctypes.c_char_p),
                ("request_id", ctypes.c_char_p), ("cancel", _Handle), ("on_lost", _OnLost),
                ("on_lost_data", ctypes.c_void_p)]


class _CheckOptions(_Options):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_uint64),
                ("fence", ctypes.c_uint64)]


class _ListOptions(_Options):
    _fields_ = [("struct_size", ctypes.c_size_t), ("agent", ctypes.c_char_p),
                ("task", ctypes.c_char_p), ("overlapping", ctypes.c_char_p)]


class _RenewOptions(_Options):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_uint64),
                ("ttl_ms", ctypes.c_int64), ("lease_ids", ctypes.POINTER(ctypes.c_char_p)),
                ("lease_id_count", ctypes.c_size_t)]


def _declare(name, *arguments, result=ctypes.c_int):
    function = getattr(_c, "lockkeeper_" + name)
    function.argtypes, function.restype = arguments, result
    return function


_place = ctypes.POINTER(_Handle)
_texts = ctypes.POINTER(ctypes.c_char_p)
_open = _declare("open", ctypes.POINTER(_OpenOptions), _place, _place)
_close = _declare("close", _Handle)
_whoami = _declare("whoami", _Handle, _place)
_acquire = _declare("acquire", _Handle, _texts, ctypes.c_size_t, ctypes.POINTER(_AcquireOptions),
                    _place, _place)
_check = _declare("check", _Handle, _texts, ctypes.c_size_t, ctypes.POINTER(_CheckOptions), _place)
_list = _declare("list", _Handle, ctypes.POINTER(_ListOptions), _place)
_renew = _declare("renew", _Handle, _texts, ctypes.c_size_t, ctypes.POINTER(_RenewOptions), _place)
_break = _declare("break", _Handle, ctypes.c_char_p, ctypes.c_char_p, _place)
_lease_id = _declare("lease_id", _Handle, result=ctypes.c_char_p)
_lease_fence = _declare("lease_fence", _Handle, result=ctypes.c_uint64)
_lease_lost = _declare("lease_lost", _Handle, _place)
_lease_check = _declare("lease_check", _Handle, _place)
_lease_release = _declare("lease_release", _Handle, _place)
_lease_close = _declare("lease_close", _Handle)
_cancel_new = _declare("cancel_new", _place)
_cancel_request = _declare("cancel_request", _Handle)
_cancel_free = _declare("cancel_free", _Handle)
_answer_status = _declare("answer_status", _Handle)
_answer_message = _declare("answer_message", _Handle, result=ctypes.c_char_p)
_answer_hint = _declare("answer_hint", _Handle, result=ctypes.c_char_p)
_answer_json = _declare("answer_json", _Handle, result=ctypes.c_char_p)
_answer_free = _declare("answer_free", _Handle)
_status_name = _declare("status_name", ctypes.c_int, result=ctypes.c_char_p)
version = _declare("version", result=ctypes.c_char_p)().decode()


class Error(Exception):
    """`code` is the word of the command line ("held", "timeout", …), `answer` its JSON."""

    def __init__(self, code, message, hint, answer):
        super().__init__(message)
        self.code, self.message, self.hint, self.answer = code, message, hint, answer


def _error(status, answer):
    text = _answer_json(answer).decode()
    return Error(_status_name(status).decode(), _answer_message(answer).decode(),
                 _answer_hint(answer).decode(), json.loads(text) if text else {})


def _call(function, *arguments):
    """Gives the JSON of the answer, or raises an Error."""
    answer = _Handle()
    status = function(*arguments, ctypes.byref(answer))
    try:
        if status != _OK:
            raise _error(status, answer)
        return json.loads(_answer_json(answer))
    finally:
        _answer_free(answer)


def _array(texts):
    if isinstance(texts, str):
        raise TypeError("give a list of texts, not one text")
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded), len(encoded)


def _ms(seconds):
    if seconds is None:
        return 0
    return FOREVER if seconds == FOREVER else int(seconds * 1000)


class Cancel:
    """Ends the waits that were given it, from another thread."""

    def __init__(self):
        self._handle = _Handle()
        if _cancel_new(ctypes.byref(self._handle)) != _OK:
            raise MemoryError

    def request(self):
        _cancel_request(self._handle)

    def __del__(self):
        _cancel_free(self._handle)


class Lease:
    """A lock that you hold. It renews itself and is released at the end of its `with`."""

    def __init__(self, handle, answer, callback):
        self._handle, self._callback = handle, callback
        self.answer = answer
        self.id, self.fence = _lease_id(handle).decode(), _lease_fence(handle)

    @property
    def lost(self):
        """Looks at the clock alone: right at once, even after the process was stopped."""
        return _lease_lost(self._handle, None) != _OK

    def check(self):
        """Asks the store; an Error unless it is current. Call it right before a guarded change."""
        _call(_lease_check, self._handle)

    def release(self):
        """Releases it now, and tells by an Error if it had been lost before."""
        _call(_lease_release, self._handle)
        self.close()

    def close(self):
        _lease_close(self._handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Realm:
    """The locks of a repository as one owner. Give each worker a realm of its own."""

    def __init__(self, path=None, agent=None, session=None, store=None):
        self._handle = _Handle()
        options = _OpenOptions(path=path, store=store, agent=agent, session=session)
        _call(_open, options, ctypes.byref(self._handle))

    def whoami(self):
        return _call(_whoami, self._handle)

    def acquire(self, resources, *, shared=False, wait=None, ttl=None, reason=None, task=None,
                request_id=None, cancel=None, on_lost=None):
        """All of them or an Error. Times are in seconds. on_lost(Error) runs in another thread."""
        callback = _OnLost()
        if on_lost is not None:
            callback = _OnLost(lambda _, why: on_lost(_error(_answer_status(why), why)))
        options = _AcquireOptions(
            flags=_SHARED if shared else 0, wait_ms=_ms(wait), ttl_ms=_ms(ttl), reason=reason,
            task=task, request_id=request_id, cancel=cancel and cancel._handle, on_lost=callback)
        handle = _Handle()
        answer = _call(_acquire, self._handle, *_array(resources), options, ctypes.byref(handle))
        return Lease(handle, answer, callback)

    def check(self, resources, *, shared=False, fence=0):
        """{"free", "mine", "conflicts"}; an Error of "held" if others are in the way."""
        options = _CheckOptions(flags=_SHARED if shared else 0, fence=fence)
        return _call(_check, self._handle, *_array(resources), options)

    def list(self, *, agent=None, task=None, overlapping=None):
        return _call(_list, self._handle,
                     _ListOptions(agent=agent, task=task, overlapping=overlapping))

    def renew(self, resources=(), *, lease_ids=(), all=False, ttl=None):
        ids, count = _array(lease_ids)
        options = _RenewOptions(flags=_ALL if all else 0, ttl_ms=_ms(ttl), lease_ids=ids,
                                lease_id_count=count)
        return _call(_renew, self._handle, *_array(resources), options)["renewed"]

    def break_lease(self, lease_id, reason):
        return _call(_break, self._handle, lease_id.encode(), reason.encode())["broken"]

    def close(self):
        """Ends the waits of other threads. Leases stay held."""
        _close(self._handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
