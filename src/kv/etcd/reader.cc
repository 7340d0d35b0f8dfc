#include "kv/etcd/reader.h"

#include <algorithm>

namespace lockkeeper::kv::etcd {
namespace {

// A commit appends fewer rows than that, so the first of such a page are whole commits.
constexpr std::size_t kCreatedPage = 256;

}  // namespace

Result<const RangeResponse*> RemoteReader::ask(RangeRequest request) {
  const bool first = snapshot_ == 0;
  request.revision = snapshot_;
  request.serializable = !first;
  LK_ASSIGN(auto answer, ask_(request));
  if (first) snapshot_ = answer.message.header.revision;
  answers_.push_back(std::move(answer));
  return &answers_.back().message;
}

Row RemoteReader::to_row(const KeyValue& kv) const {
  return {keys_.key_of(kv.key), kv.value, kv.create_revision, kv.mod_revision};
}

Page RemoteReader::to_page(const RangeResponse& response) {
  Page page;
  page.more = response.more;
  page.rows.reserve(response.kvs.size());
  for (const KeyValue& kv : response.kvs) {
    if (!kv.key.starts_with(keys_.rows())) continue;  // no answer to what was asked
    page.rows.push_back(to_row(kv));
    known_.try_emplace(std::string(page.rows.back().key), page.rows.back());
  }
  return page;
}

Result<Version> RemoteReader::snapshot() {
  if (snapshot_ == 0) {
    RangeRequest request;
    request.key = keys_.epoch();
    LK_CHECK(ask(std::move(request)));
  }
  return snapshot_;
}

Result<std::optional<Row>> RemoteReader::get(std::string_view key) {
  if (key.size() > kKeyBytesMax) return std::nullopt;
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  RangeRequest request;
  request.key = keys_.row(key);
  LK_ASSIGN(const RangeResponse* const response, ask(std::move(request)));
  const Page page = to_page(*response);
  std::optional<Row> row;
  if (!page.rows.empty()) row = page.rows.front();
  known_.try_emplace(std::string(key), row);
  return row;
}

Result<Page> RemoteReader::rows(const Range& range, bool forward, std::size_t most) {
  RangeRequest request;
  request.key = keys_.row(range.from);
  request.range_end = keys_.row(range.to);
  request.limit = most;
  if (!forward) request.order = RangeRequest::Order::kKeyDescending;
  const auto response = ask(request);
  if (response) return to_page(**response);
  // Large rows: fewer of them fit into one answer.
  if (response.error().code == Code::kLimitExceeded && most > 1)
    return rows(range, forward, most / 4);
  return fail(response.error());
}

Result<Page> RemoteReader::created(const Range& range, const Created& when, bool forward) {
  RangeRequest request;
  request.key = keys_.row(range.from);
  request.range_end = keys_.row(range.to);
  request.limit = kCreatedPage;
  request.order =
      forward ? RangeRequest::Order::kCreateAscending : RangeRequest::Order::kCreateDescending;
  request.min_create_revision = when.first;
  request.max_create_revision = when.last;
  LK_ASSIGN(const RangeResponse* const response, ask(std::move(request)));
  Page page = to_page(*response);
  const auto before = [forward](const Row& a, const Row& b) {
    const bool earlier = a.created != b.created ? a.created < b.created : a.key < b.key;
    return forward ? earlier : !earlier && a.key != b.key;
  };
  std::ranges::sort(page.rows, before);
  // The last commit of the page may go on behind it.
  if (page.more && !page.rows.empty() && page.rows.front().created != page.rows.back().created) {
    const Version last = page.rows.back().created;
    std::erase_if(page.rows, [last](const Row& row) { return row.created == last; });
  }
  return page;
}

}  // namespace lockkeeper::kv::etcd
