// Commands in the text of a shell call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "enforce/shell/found_testing.h"

namespace lockkeeper::enforce::shell {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class ShellTable : public testing::TestWithParam<Case> {};

TEST_P(ShellTable, IsRecognised) {
  EXPECT_EQ(seen(GetParam().command), GetParam().expected) << GetParam().command;
}

constexpr Case kShell[] = {
    {"ls && git stash", "stash /"},
    {"ls || git stash", "stash /"},
    {"ls; git stash; ls", "stash /"},
    {"ls | git stash", "stash /"},
    {"ls & git stash", "stash /"},
    {"ls\ngit stash\nls", "stash /"},
    {"git stash && git reset --hard", "stash /; discard /"},
    {"git stash>/dev/null 2>&1", "stash /"},
    {"git stash &>/dev/null", "stash /"},
    {"2>/dev/null git stash", "stash /"},
    {"git checkout -- a.c > log", "discard a.c"},
    {"git checkout -- a.c 2>err b.c", "discard a.c b.c"},
    {"git\tstash", "stash /"},
    {"git \\\n  stash", "stash /"},
    {"git stash # reset --hard", "stash /"},
    {"# git stash", ""},
    {"ls # && git stash", ""},
    {"ls #x\ngit stash", "stash /"},
    {"echo a#b; git stash", "stash /"},
    {"'git' stash", "stash /"},
    {"g\"i\"t stash", "stash /"},
    {"\\git stash", "stash /"},
    {"/usr/bin/git stash", "stash /"},
    {"git 'stash'", "stash /"},
    {"git $'stash'", "stash /"},
    {"git $'s\\x74ash'", "stash /"},
    {"git $'\\163tash'", "stash /"},
    {"git checkout -- 'a b.c' c\\ d.c \"e f.c\"", "discard a b.c c d.c e f.c"},
    {"git checkout -- \"a\\\"b\"", "discard a\"b"},
    {"git checkout -- \"a\\nb\"", "discard a\\nb"},
    {"(git stash)", "stash /"},
    {"( ( git stash ) )", "stash /"},
    {"((1 + 2)); git stash", "stash /"},
    {"((x<<2)); git stash", "stash /"},
    {"echo $((1<<2)); git stash", "stash /"},
    {"echo $(( $(git stash) + 1 ))", "stash /"},
    {"{ git stash; }", "stash /"},
    {"! git stash", "stash /"},
    {"if git stash; then ls; fi", "stash /"},
    {"if true; then git stash; else git reset --hard; fi", "stash /; discard /"},
    {"while true; do git stash; done", "stash /"},
    {"for f in a b; do git checkout -- $f; done", "discard a b"},
    {"for f in a b; do git checkout -- \"$f\"; done", "discard a b"},
    {"for f in a b; do git checkout -- x/$f; done", "discard x/a x/b"},
    {"for f in *; do git checkout -- $f; done", "discard ."},
    {"for f in $X; do git checkout -- $f; done", "discard ."},
    {"for f; do git checkout -- $f; done", "discard ."},
    {"for f in a; do ls; done; for f in b; do git checkout -- $f; done", "discard ."},
    {"for d in a b; do cd $d; git add .; done", "stage ?: . +new"},
    {"for d in a b; do git -C $d add .; done", "stage ?: . +new"},
    {"for b in a b; do git branch -D $b; done", "branch / =a =b"},
    {"for d in out build; do rm -rf \"$d\"; done", "remove out build +new +ignored"},
    {"for d in out build; do rm -rf \"./$d\" $d/x; done",
     "remove ./out ./build out/x build/x +new +ignored"},
    {"for d in a b; do rm -rf \"$d/$X\" $d$d; done", "remove +new +ignored unknown"},
    {"for d in a b; do rm -rf x$d$d; done", "remove ~x** +new +ignored"},
    {"for d in a b; do rm -rf $d*; done", "remove +new +ignored unknown"},
    {"case $x in a) git stash;; b|c) ls;; esac; git reset --hard", "stash /; discard /"},
    {"$(case $x in a) git stash;; esac); git reset --hard", "stash /; discard /"},
    {"f() { git stash; }; f", "stash /"},
    {"function f { git stash; }", "stash /"},
    {"echo $(git stash)", "stash /"},
    {"echo \"$(git stash)\"", "stash /"},
    {"echo `git stash`", "stash /"},
    {"echo \"`git stash`\"", "stash /"},
    {"echo ${x:-$(git stash)}", "stash /"},
    {"diff <(git stash) b", "stash /"},
    {"A=b git stash", "stash /"},
    {"A='b c' D=$E git stash", "stash /"},
    {"GIT_EDITOR=true git commit --amend", "amend /"},
    {"env git stash", "stash /"},
    {"env -i A=b git stash", "stash /"},
    {"env \"A=b\" git stash", "stash /"},
    {"env -u X git stash", "stash /"},
    {"env -S 'git stash'", "stash /"},
    {"command git stash", "stash /"},
    {"command -v git stash", ""},
    {"sudo git stash", "stash /"},
    {"sudo -u bob git stash", "stash /"},
    {"sudo -E -- git stash", "stash /"},
    {"nice -n 10 git stash", "stash /"},
    {"nice git stash", "stash /"},
    {"time git stash", "stash /"},
    {"time -p git stash", "stash /"},
    {"timeout 10 git stash", "stash /"},
    {"timeout -k 5 10s git stash", "stash /"},
    {"nohup git stash &", "stash /"},
    {"exec git stash", "stash /"},
    {"stdbuf -oL git stash", "stash /"},
    {"flock .lock git stash", "stash /"},
    {"flock .lock -c 'git stash'", "stash /"},
    {"sudo env A=b nice command git stash", "stash /"},
    {"ls | xargs git checkout --", "discard ."},
    {"ls | xargs -n 1 -P 4 git checkout --", "discard ."},
    {"ls | xargs -I{} git checkout -- {}", "discard ."},
    {"ls | xargs git add", "stage . +new"},
    {"xargs", ""},
    {"ls | xargs -I{} sh -c 'git checkout -- {}'", "discard .; unclear"},
    {"find . -exec sh -c 'git checkout -- {}' \\;", "discard .; unclear"},
    {"mise exec -- git stash", "stash /"},
    {"caffeinate -t 5 git stash", "stash /"},
    {"bash -c 'git stash'", "stash /"},
    {"bash -lc \"git stash\"", "stash /"},
    {"bash -euo pipefail -c 'git stash'", "stash /"},
    {"/bin/sh -c 'cd a; git stash'", "stash a: /"},
    {"sh -c \"sh -c 'git stash'\"", "stash /"},
    {"bash script.sh", ""},
    {"bash -c \"$SCRIPT\"", "unclear"},
    {"bash -x", ""},
    {"eval git stash", "stash /"},
    {"eval \"git stash\"", "stash /"},
    {"eval \"$X\"", "unclear"},
    {"bash <<< 'git stash'", "stash /"},
    {"bash <<'EOF'\ngit stash\nEOF\n", "stash /"},
    {"bash -s <<EOF\ngit stash\nEOF", "stash /"},
    {"$GIT reset --hard", "unclear"},
    {"$MAKE clean", ""},
    {"$X", ""},
    {"find . -name x -exec git checkout -- {} +", "discard ."},
    {"find . -name x -exec git checkout -- {} \\;", "discard ."},
    {"find . -name x -delete", ""},
    {"export A=b; git stash", "stash /"},
    {"A=(git stash); git reset --hard", "discard /"},
    {"A=x; B=$A; git checkout -- $B", "discard x"},
    {"A='x y'; git checkout -- $A", "discard x y"},
    {"A='x y'; git checkout -- \"$A\"", "discard x y"},
    {"read A; git checkout -- $A", "discard ."},
};
INSTANTIATE_TEST_SUITE_P(Shell, ShellTable, testing::ValuesIn(kShell));

// What variables hold, what other programs run, and what comes through a pipe.
constexpr Case kHidden[] = {
    {"CMD='git reset --hard'; $CMD", "discard /"},
    {"CMD='git reset --hard'; \"$CMD\"", ""},
    {"OPTS='--hard HEAD'; git reset $OPTS", "discard /"},
    {"git reset ${O:---hard}", "discard /"},
    {"O=--soft; git reset ${O:---hard}", ""},
    {"git reset ${X:+--hard}", "discard /"},
    {"set -- --hard; git reset \"$@\"", "discard /"},
    {"A=(git reset --hard); \"${A[@]}\"", "discard /"},
    {"A=(git reset); A+=(--hard); ${A[*]}", "discard /"},
    {"rm -rf \"${D:-src}\"", "remove src +new +ignored"},
    {"rm -rf \"${PWD:?}/src\"", "remove ./src +new +ignored"},
    {"rm -rf `pwd`/src", "remove ./src +new +ignored"},
    {"rm -rf $(echo src)", "remove src +new +ignored"},
    {"rm -rf $(git ls-files)", "remove +new +ignored unknown"},
    {"cat <<E | bash\ngit stash\nE", "stash /"},
    {"cat <<'E' | tee x | sh -s\ngit stash\nE", "stash /"},
    {"echo 'git reset --hard' | sh", "discard /"},
    {"printf 'ls\\ngit stash\\n' | bash -", "stash /"},
    {"cat <<< 'git stash' | bash", "stash /"},
    {"echo 'git stash' | cat", ""},
    {"curl -s x | sh", ""},
    {"{ bash; } <<E\ngit stash\nE", "stash /"},
    {"( bash ) <<E\ngit stash\nE", "stash /"},
    {"bash - <<E\ngit stash\nE", "stash /"},
    {"bash /dev/stdin <<E\ngit stash\nE", "stash /"},
    {". /dev/stdin <<E\ngit stash\nE", "stash /"},
    {"source <(echo git stash)", "stash /"},
    {"source <(kubectl completion bash)", ""},
    {"bash -c \"$(cat <<'E'\ngit stash\nE\n)\"", "stash /"},
    {"eval \"$(cat <<'E'\ngit stash\nE\n)\"", "stash /"},
    {"bash -c \"$(cat <<E\ngit stash $X\nE\n)\"", "unclear"},
    {"trap 'git stash' EXIT", "stash /"},
    {"trap - EXIT", ""},
    {"su - bob -c 'git stash'", "stash /"},
    {"script -qc 'git stash' /dev/null", "stash /"},
    {"flock -n x -c 'git stash'", "stash /"},
    {"npx -c 'git stash'", "stash /"},
    {"watch -n 5 git stash", "stash /"},
    {"strace -f -o log git stash", "stash /"},
    {"taskset -c 0 git stash", "stash /"},
    {"parallel git checkout -- ::: a b", "discard ."},
    {"uv run git stash", "stash /"},
    {"lockkeeper run src/ -- rm -rf src", "remove src +new +ignored"},
    {"{fd}>x git stash", "stash /"},
    {"if (( n << 2 )); then\ngit stash\nfi", "stash /"},
    {"for ((i=0;i<<2;i++)); do git stash; done", "stash /"},
    {"echo $[1<<2]\ngit stash", "stash /"},
};
INSTANTIATE_TEST_SUITE_P(Hidden, ShellTable, testing::ValuesIn(kHidden));

constexpr Case kOnlyWords[] = {
    {"echo git stash", ""},
    {"echo 'git stash'", ""},
    {"echo \"git reset --hard\"", ""},
    {"git commit -m 'git reset --hard is refused now'", ""},
    {"git commit -m \"never run git stash; git clean -fd\"", ""},
    {"git commit -m \"$(cat <<'EOF'\ndocs: git reset --hard (it's refused)\n\ngit stash\nEOF\n)\"",
     ""},
    {"git commit -m \"$(cat <<'EOF'\na ) b \" c ' `\nEOF\n)\" && git stash", "stash /"},
    {"git commit -F - <<EOF\ngit reset --hard\nEOF", ""},
    {"git commit -F - <<-EOF\n\tgit reset --hard\n\tEOF\ngit stash", "stash /"},
    {"cat > notes.md <<EOF\ngit stash\nEOF", ""},
    {"cat <<'A' <<\"B\"\ngit stash\nA\ngit stash\nB\ngit reset --hard", "discard /"},
    {"cat <<\\EOF | tee x\ngit stash\nEOF\n", ""},
    {"cat <<'E O'\ngit stash\nE O\n", ""},
    {"python3 - <<'PY'\nimport os\nos.system('git stash')\nPY", ""},
    {"grep -rn 'git stash' .", ""},
    {"rg \"git reset --hard\" src | head", ""},
    {"gh pr create --body 'git stash'", ""},
    {"printf 'git stash\\n' > hint", ""},
    {"cat <<< 'git stash'", ""},
    {"make stash", ""},
    {"ssh host 'git reset --hard'", ""},
    {"ssh host <<'E'\ngit reset --hard\nE", ""},
    {"docker run --rm -v $PWD:/x image git clean -fdx", ""},
    {"docker exec c bash -c 'git reset --hard'", ""},
    {"git commit -m \"$(cat <<EOF\nfix: $X\n\ngit reset --hard\nEOF\n)\"", ""},
    {"MSG='git reset --hard'; git commit -m \"$MSG\"", ""},
    {"echo 'rm -rf src' >> notes.md", ""},
    {"echo 'git stash' | grep stash", ""},
    {"printf '%s' 'git stash' | pbcopy", ""},
    {"X=$(echo git stash); echo $X", ""},
    {"npm run clean && uv run pytest -k 'git stash'", ""},
    {"./git-stash", ""},
    {"mygit stash", ""},
    {"git-lfs stash", ""},
    {"echo git; stash", ""},
    {"[[ $a == git ]] && stash", ""},
    {"alias gs='git stash'", ""},
    {"test -d .git && ls", ""},
};
INSTANTIATE_TEST_SUITE_P(OnlyWords, ShellTable, testing::ValuesIn(kOnlyWords));

constexpr Case kRemove[] = {
    {"rm -r src", "remove src +new +ignored"},
    {"rm -rf src", "remove src +new +ignored"},
    {"rm -fR src out", "remove src out +new +ignored"},
    {"rm --recursive --force src", "remove src +new +ignored"},
    {"rm -rf -- -x", "remove -x +new +ignored"},
    {"rm src -rf", "remove src +new +ignored"},
    {"rm -rf *", "remove . +new +ignored"},
    {"rm -rf ./*", "remove ~./* +new +ignored"},
    {"rm -rf src/*", "remove ~src/* +new +ignored"},
    {"rm -rf .", "remove . +new +ignored"},
    {"rm -rf !(keep)", "remove . +new +ignored"},
    {"rm -rf {a,b}", "remove a b +new +ignored"},
    {"rm -rf x/{a,b{1,2}}.d y", "remove x/a.d x/b1.d x/b2.d y +new +ignored"},
    {"rm -rf x{1..3}", "remove ~x* +new +ignored"},
    {"rm -rf \"x\"{a,b}", "remove ~x* +new +ignored"},
    {"rm -rf {a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}", "remove . +new +ignored"},
    {"rm -rf \"$DIR\"", "remove +new +ignored unknown"},
    {"rm -rf $DIR/build src", "remove src +new +ignored unknown"},
    {"rm -rf build/$X", "remove ~build/* +new +ignored"},
    {"D=$(mktemp -d); rm -rf \"$D\"", "remove /tmp/tmp.XXXXXXXXXX +new +ignored"},
    {"D=build; rm -rf \"$D/x\"", "remove build/x +new +ignored"},
    {"cd sub && rm -rf out", "remove sub: out +new +ignored"},
    {"sudo rm -rf src", "remove src +new +ignored"},
    {"ls | xargs rm -rf", "remove +new +ignored unknown"},
    {"find . -name x -exec rm -rf {} +", "remove +new +ignored unknown"},
    {"rm a.c", ""},
    {"rm -f a.c b.c", ""},
    {"rm -rf", ""},
    {"rmdir src", ""},
    {"rm -- -r", ""},
    {"echo rm -rf src", ""},
    {"npm rm -r x", ""},
};
INSTANTIATE_TEST_SUITE_P(Remove, ShellTable, testing::ValuesIn(kRemove));

constexpr Case kBroken[] = {
    {"", ""},
    {" \n\t", ""},
    {"git stash 'x", "unclear"},
    {"echo 'x", "unclear"},
    {"echo \"x", "unclear"},
    {"echo `x", "unclear"},
    {"echo ${x", "unclear"},
    {"echo $(git stash", "stash /"},
    {"git stash)", "stash /"},
    {"))))git stash", "stash /"},
    {"cat <<EOF\ngit stash", "unclear"},
    {"<", ""},
    {">", ""},
    {"<<", ""},
    {"$", ""},
    {"git stash \\", "stash /"},
    {"&&;||", ""},
    {"case", ""},
    {"case x in", ""},
    {"${", "unclear"},
    {"$'", "unclear"},
};
INSTANTIATE_TEST_SUITE_P(Broken, ShellTable, testing::ValuesIn(kBroken));

TEST(Shell, WhatWasTypedIsKept) {
  const Found found = look_at_script("cd x && A=b git  stash push -m \"$M\" -- 'a b' # all");
  ASSERT_THAT(found.dangers, SizeIs(1));
  EXPECT_EQ(found.dangers[0].typed, "git stash push -m \"$M\" -- 'a b'");
  const std::string many = "git checkout -- " + std::string(1000, 'x');
  EXPECT_LE(look_at_script(many).dangers.at(0).typed.size(), kTypedBytesMax);
}

TEST(Shell, KnownVariablesAreFilledIn) {
  Surroundings home;
  home.variables = [](std::string_view name) -> std::optional<std::string> {
    if (name != "HOME") return std::nullopt;
    return "/home/ann";
  };
  EXPECT_EQ(summary(look_at_script("rm -rf ~/x \"$HOME/y\" $OTHER/z", home)),
            "remove /home/ann/x /home/ann/y +new +ignored unknown");
  EXPECT_EQ(summary(look_at_script("cd ~ && git stash", home)), "stash /home/ann: /");
  EXPECT_EQ(summary(look_at_script("rm -rf ~bob/x", home)), "remove +new +ignored unknown");
}

TEST(Shell, TheWordsOfOneGitAreJudgedWithoutAShell) {
  const auto judged = [](const std::vector<std::string>& words) {
    return summary(look_at_git(words));
  };
  EXPECT_EQ(judged({"stash"}), "stash /");
  EXPECT_EQ(judged({"-C", "a b", "checkout", "--", "$x"}), "discard a b: $x");
  EXPECT_EQ(judged({"commit", "-m", "git stash; `git stash`"}), "");
  EXPECT_EQ(judged({"st", "a b"}), "alias st 'a b'");
  EXPECT_EQ(judged({}), "");
  EXPECT_EQ(look_at_git(std::vector<std::string>{"checkout", "--", "a b"}).dangers.at(0).typed,
            "git checkout -- 'a b'");
}

TEST(Shell, WhatIsTooLongOrTooDeepIsNotHarmless) {
  const std::string padding(kTextBytesMax, ' ');
  EXPECT_EQ(seen("git stash;" + padding + "git stash"), "stash /; unclear");
  EXPECT_EQ(seen("ls;" + padding + "ls"), "");
  EXPECT_EQ(seen(padding.substr(9) + "git stash"), "stash /");
  std::string script = "git stash";
  for (int i = 0; i < 4; ++i) {
    std::string quoted = "sh -c \"";
    for (const char c : script)
      quoted += (c == '"' || c == '\\') ? std::string{'\\', c} : std::string{c};
    script = quoted + "\"";
  }
  EXPECT_EQ(seen(script), "stash /");
  std::string evals;
  for (int i = 0; i < 20; ++i) evals += "eval ";
  EXPECT_EQ(seen(evals + "git stash"), "unclear");
  EXPECT_THAT(seen(std::string(1000, '(') + "git stash"), HasSubstr("unclear"));
  EXPECT_THAT(seen("sudo sudo sudo sudo sudo sudo sudo sudo sudo sudo git stash"),
              HasSubstr("unclear"));
  std::string many;
  for (std::size_t i = 0; i <= kDangersMax; ++i) many += "git stash\n";
  const Found found = look_at_script(many);
  EXPECT_THAT(found.dangers, SizeIs(kDangersMax));
  EXPECT_NE(found.unclear, "");
}

// Each of these would take minutes, or the whole stack, if anything were quadratic or unbounded.
TEST(Shell, HostileTextsAreReadInTime) {
  for (const std::string piece :
       {"{",  "(",          "$(",      "${",       "$((",       "`",    "\"",      "'",
        "<<", "<<a\n",      "if ",     "env a=b ", "cd a;",     "\"${", "$((1)) ", "((",
        "*(", "case x in ", "A=$A$A;", "${x\"",    "git -C a ", "\\",   "!"}) {
    std::string text;
    while (text.size() + piece.size() <= kTextBytesMax) text += piece;
    static_cast<void>(look_at_script(text));
  }
  std::string doubling = "a=xxxxxxxxxxxxxxxx;";
  for (char c = 'a'; c < 'z'; ++c) {
    doubling += std::string(1, static_cast<char>(c + 1)) + "=$" + c + "$" + c + ";";
  }
  EXPECT_EQ(seen(doubling + "git checkout -- $z"), "discard .");
}

TEST(Shell, FoldersAndPatternsCoverWhatIsBelowThem) {
  EXPECT_TRUE(is_below("src/a.c", {"src"}));
  EXPECT_TRUE(is_below("src", {"src"}));
  EXPECT_FALSE(is_below("srcs/a.c", {"src"}));
  EXPECT_FALSE(is_below("a/src", {"src"}));
  EXPECT_TRUE(is_below("src/x/a.c", {"src/*.c", true}));
  EXPECT_TRUE(is_below("conf.d/a/b", {"*.d", true}));
  EXPECT_FALSE(is_below("src/a.h", {"src/*.c", true}));
  // The shell looks for names in one folder.
  EXPECT_FALSE(is_below("src/x/a.c", {"src/*.c", true, true}));
  EXPECT_FALSE(is_below("src/a.c", {"*.c", true, true}));
  EXPECT_TRUE(is_below("src/a.c", {"src/*.c", true, true}));
  EXPECT_TRUE(is_below("conf.d/a/b", {"*.d", true, true}));
  EXPECT_FALSE(is_below("src", {"src/*", true, true}));
}

}  // namespace
}  // namespace lockkeeper::enforce::shell
