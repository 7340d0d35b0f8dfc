// The six ways to the same lock: the native verbs and the five dialects, each with its own words.
// What is contended is one file; `guard` takes the folder it is in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/stage.h"

namespace lockkeeper::interop {

inline constexpr const char* kFile = "src/a.py";
inline constexpr const char* kFolder = "src/";

// Somebody who holds it through one of the doors, until the end of the object at the latest.
class Held {
 public:
  virtual ~Held() = default;
  virtual void give_back() = 0;
};

class Door {
 public:
  explicit Door(std::string name, int held_status = 75)
      : name_(std::move(name)), held_status_(held_status) {}
  virtual ~Door() = default;

  const std::string& name() const { return name_; }
  int held_status() const { return held_status_; }  // how it ends when somebody else has it
  virtual std::string takes() const { return kFile; }

  // Asks for it with --json. What is granted stays held but for `guard`, whose command ends.
  virtual stage::Answer ask(stage::Stage& stage, const std::string& agent) const = 0;
  virtual void leave(stage::Stage& stage, const std::string& agent) const = 0;
  // Takes it, which must work. Null and a failed test if it does not.
  virtual std::unique_ptr<Held> hold(stage::Stage& stage, const std::string& agent) const;

  // Does the refusal name that agent as a holder of that resource?
  virtual bool names(const stage::Answer& refusal, const std::string& agent,
                     const std::string& held) const;

 private:
  const std::string name_;
  const int held_status_;
};

const std::vector<std::unique_ptr<Door>>& doors();

// Where the tools' files are, for a stage whose doors have all been used once.
std::string output_folder(const stage::Stage& stage);    // workflow's OUTPUT
std::string coordmcp_folder(const stage::Stage& stage);  // CoordMCP's data
std::string spec_folder(const stage::Stage& stage);      // the mkdir protocol's spec/
std::string temp_folder(const stage::Stage& stage);      // the directory lock's tmpdir
inline constexpr const char* kProject = "demo";

// A fresh repository in which every door has been used once, so that every layout is registered.
std::unique_ptr<stage::Stage> make_stage();

}  // namespace lockkeeper::interop
