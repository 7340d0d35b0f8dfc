#include "kv/etcd/copy_reader.h"

namespace lockkeeper::kv::etcd {

Result<const Copy::View*> CopyReader::view() {
  if (!tried_) {
    LK_ASSIGN(view_, take_());
    tried_ = true;
  }
  return view_.get();
}

Result<Version> CopyReader::snapshot() {
  LK_ASSIGN(const Copy::View* const view, this->view());
  if (view == nullptr) return remote_->snapshot();
  return view->version();
}

Result<std::optional<Row>> CopyReader::get(std::string_view key) {
  LK_ASSIGN(const Copy::View* const view, this->view());
  if (view == nullptr) return remote_->get(key);
  return view->get(key);
}

Result<Page> CopyReader::rows(const Range& range, bool forward, std::size_t most) {
  LK_ASSIGN(const Copy::View* const view, this->view());
  if (view == nullptr) return remote_->rows(range, forward, most);
  return view->rows(range, forward, most);
}

Result<Page> CopyReader::created(const Range& range, const Created& when, bool forward) {
  LK_ASSIGN(const Copy::View* const view, this->view());
  if (view == nullptr) return remote_->created(range, when, forward);
  return view->created(range, when, forward);
}

}  // namespace lockkeeper::kv::etcd
