// Locks for programs that share files: the whole library. Read realm.h first, then lease.h.
// C++20 is enough; nothing but the standard library is included.
#pragma once

#include "lockkeeper/acquire.h"
#include "lockkeeper/answer.h"
#include "lockkeeper/error.h"
#include "lockkeeper/guard.h"
#include "lockkeeper/lease.h"
#include "lockkeeper/realm.h"
