#include "kv/etcd/ask.h"

#include <sys/stat.h>

#include "base/fd.h"
#include "base/quote.h"
#include "base/text.h"
#include "kv/etcd/messages.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::size_t kPasswordBytesMax = 4096;

Result<std::string> read_password(const std::string& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) == 0 && (info.st_mode & 07) != 0) {
    return fail(Code::kInvalidInput,
                "everybody on this machine can read the password in " + quote(file),
                "chmod 600 " + shell_quote(file));
  }
  LK_ASSIGN(std::string password, read_file(file, kPasswordBytesMax));
  while (password.ends_with('\n') || password.ends_with('\r')) password.pop_back();
  if (!password.empty()) return password;
  return fail(Code::kInvalidInput, "there is no password in " + quote(file));
}

}  // namespace

bool says(const Answer& answer, std::string_view words) {
  return answer.words.find(words) != std::string::npos;
}

bool is_ok(const Answer& answer) {
  return answer.end == Answer::End::kAnswered && answer.status == Grpc::kOk;
}

Error to_error(const Answer& answer, const std::string& from) {
  const std::string who = "the etcd at " + from;
  const std::string words = answer.words.empty() ? "no reason given" : answer.words;
  if (answer.end == Answer::End::kLost || answer.end == Answer::End::kNotSent) {
    return {Code::kStoreUnavailable, "the connection with " + who + " broke", "is it running?"};
  }
  if (answer.end == Answer::End::kLate) {
    return {Code::kStoreUnavailable, who + " does not answer in time",
            "is it overloaded or cut off?"};
  }
  if (says(answer, "database space exceeded")) {
    return {Code::kNoSpace, who + " has used up its quota",
            "compact and defragment it, raise --quota-backend-bytes, then: etcdctl alarm disarm"};
  }
  if (says(answer, "no leader")) {
    return {Code::kStoreUnavailable, who + " cannot be reached by enough others: no leader",
            "start the others; lockkeeper doctor --store etcd://… says which are down"};
  }
  if (says(answer, "has been compacted")) {
    return {Code::kStoreUnavailable,
            who + " has compacted away the state that this transaction read", "begin again"};
  }
  if (says(answer, "too many operations")) {
    return {Code::kLimitExceeded, who + " takes fewer operations in one transaction than 128",
            "start it with --max-txn-ops 128 or more"};
  }
  if (says(answer, "request is too large") || says(answer, "larger than max")) {
    return {Code::kLimitExceeded, "the rows are too large for one transaction of " + who,
            "start it with a larger --max-request-bytes"};
  }
  if (answer.status == Grpc::kPermissionDenied) {
    return {
        Code::kStoreUnavailable, who + " does not let this user read and write its rows",
        "grant its role the prefix: etcdctl role grant-permission ROLE --prefix readwrite PREFIX"};
  }
  if (answer.status == Grpc::kUnauthenticated || says(answer, "user name is empty") ||
      says(answer, "user name not found")) {
    return {Code::kStoreUnavailable, who + " wants a user: " + words,
            "add user=NAME&password-file=FILE to the etcd address"};
  }
  if (answer.status == Grpc::kDataLoss) {
    return {Code::kStoreCorrupt, who + " has found damage: " + words,
            "see its log, and restore that member"};
  }
  return {Code::kStoreUnavailable, who + " answers: " + words, "see etcdctl endpoint status"};
}

Result<std::string> authenticate(Link& link, const Address& address, Deadline until) {
  LK_ASSIGN(const std::string password, read_password(address.password_file));
  const Answer answer =
      link.call(kAuthenticate, {}, encode_authenticate(address.user, password), until);
  const std::string who = "the etcd at " + link.endpoint().name();
  if (says(answer, "authentication is not enabled")) {
    return fail(Code::kStoreUnavailable, who + " asks nobody for a password",
                "enable it there: etcdctl auth enable; or leave user and password-file out");
  }
  if (says(answer, "authentication failed")) {
    return fail(Code::kStoreUnavailable,
                who + " does not accept the password of user " + quote(address.user),
                "correct the user in the etcd address, or the password in its file");
  }
  if (!is_ok(answer)) {
    return fail(to_error(answer, link.endpoint().name()));
  }
  const auto token = decode_authenticate(answer.body);
  if (!token) return fail(Code::kStoreUnavailable, who + " gave an answer that cannot be read");
  return *token;
}

}  // namespace lockkeeper::kv::etcd
