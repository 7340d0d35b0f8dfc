// Locks for programs that share files: the whole library, except for memory.h, which is for tests.
// Read realm.h first, then lease.h. C++20 is enough, and only the standard library is included.
#pragma once

#include "lockkeeper/acquire.h"
#include "lockkeeper/answer.h"
#include "lockkeeper/error.h"
#include "lockkeeper/guard.h"
#include "lockkeeper/lease.h"
#include "lockkeeper/query.h"
#include "lockkeeper/realm.h"
