// SPDX-License-Identifier: Apache-2.0
#include "support/redis_server.hpp"

#include "support/wait_for.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace cremone::test {

namespace {

constexpr int cannot_execute = 111;

/// Only what may be done between fork and exec in a process of many threads.
[[noreturn]] void become(char* const* argv, char* const* environment, const char* log) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execvpe(argv[0], argv, environment);
  ::_exit(cannot_execute);
}

/// As exec wants them; the words must outlive it.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) {
    out.push_back(word.data());
  }
  out.push_back(nullptr);
  return out;
}

pid_t spawn(std::vector<std::string> words, std::vector<std::string> environment, const std::string& log) {
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> env = pointers_to(environment);
  const pid_t child = ::fork();
  if (child == 0) {
    become(argv.data(), env.data(), log.c_str());
  }
  if (child < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  return child;
}

}  // namespace

void redis_link::say(const std::vector<std::string>& words) {
  if (!socket_ || !send_all(socket_.get(), resp_command(words))) {
    socket_.reset();
  }
}

resp redis_link::hear() {
  while (socket_) {
    std::size_t used = 0;
    if (auto whole = parse_resp(heard_, used)) {
      heard_.erase(0, used);
      return *whole;
    }
    const std::string more = readable(socket_.get(), generous) ? receive_some(socket_.get()) : "";
    if (more.empty()) {
      socket_.reset();
    }
    heard_ += more;
  }
  return {.type = '-', .text = "no answer"};
}

redis_server::redis_server(redis_options options) : options_(std::move(options)) {
  if (options_.tls) {
    certificates_.emplace();
  }
  if (options_.clock) {
    if (::access(CREMONE_TEST_CLOCK_SHIM, R_OK) != 0) {  // the loader would go on without it
      throw std::runtime_error("there is no " CREMONE_TEST_CLOCK_SHIM);
    }
    clock_.emplace(directory_.file("clock"));
  }
  if (!options_.config.empty()) {
    std::ofstream(directory_.file("conf")) << options_.config;
  }
  if (options_.tls) {
    tls_port_.emplace();
  }
  if (options_.cluster) {
    bus_port_.emplace();
  }
  launch();
}

redis_server::~redis_server() { kill(); }

std::vector<std::string> redis_server::arguments() const {
  std::vector<std::string> words = {"redis-server",
                                    "--bind",
                                    "127.0.0.1",
                                    "--port",
                                    port_.text(),
                                    "--unixsocket",
                                    directory_.file("redis.sock"),
                                    "--dir",
                                    directory_.path(),
                                    "--save",
                                    "",
                                    "--appendonly",
                                    options_.aof ? "yes" : "no",
                                    "--appendfsync",
                                    "everysec",
                                    "--daemonize",
                                    "no",
                                    "--databases",
                                    "64"};
  if (!options_.config.empty()) {
    words.insert(words.begin() + 1, directory_.file("conf"));
  }
  if (options_.tls) {
    const std::vector<std::string> tls = {"--tls-port",         tls_port_->text(),
                                          "--tls-cert-file",    certificates_->pem(certificates::server),
                                          "--tls-key-file",     certificates_->key(certificates::server),
                                          "--tls-ca-cert-file", certificates_->pem(certificates::ca),
                                          "--tls-auth-clients", "optional"};
    words.insert(words.end(), tls.begin(), tls.end());
  }
  if (options_.cluster) {
    words.insert(words.end(), {"--cluster-enabled", "yes", "--cluster-port", bus_port_->text()});
  }
  words.insert(words.end(), options_.extra.begin(), options_.extra.end());
  return words;
}

std::vector<std::string> redis_server::environment() const {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) {
    all.emplace_back(*one);
  }
  if (clock_) {
    // Only for the server. The test itself may have a sanitizer, which wants to be loaded first.
    std::erase_if(all, [](const std::string& one) { return one.starts_with("LD_PRELOAD="); });
    all.emplace_back("LD_PRELOAD=" CREMONE_TEST_CLOCK_SHIM);
    all.push_back("CREMONE_TEST_CLOCK=" + clock_->path());
  }
  return all;
}

void redis_server::launch() {
  pid_ = spawn(arguments(), environment(), directory_.file("log"));
  int status = 0;
  bool ended = false;
  const bool answers = wait_for(
      [&] {
        ended = ::waitpid(pid_, &status, WNOHANG) == pid_;
        return ended || redis_link(port()).ask({"PING"}).text != "no answer";
      },
      3 * generous);
  if (ended) {
    pid_ = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == cannot_execute) {
      throw std::runtime_error("there is no redis-server on this machine: install the package (./dev setup)");
    }
    throw std::runtime_error("redis-server does not start: " + log());
  }
  if (!answers) {
    throw std::runtime_error("redis-server does not answer: " + log());
  }
}

std::string redis_server::log() const {
  std::ifstream in(directory_.file("log"));
  return {std::istreambuf_iterator<char>(in), {}};
}

namespace {

/// The classic layout, unless another is asked for.
std::string options_with(const std::string& more) {
  return more.find("layout=") == std::string::npos ? "?layout=classic" + more : "?" + more.substr(1);
}

}  // namespace

std::string redis_server::url_as(const std::string& credentials, int db, const std::string& more) const {
  return "redis://" + credentials + (credentials.empty() ? "" : "@") + node() + "/" + std::to_string(db) +
         options_with(more);
}

std::string redis_server::tls_url(int db, const std::string& more) const {
  return "rediss://127.0.0.1:" + tls_port_->text() + "/" + std::to_string(db) +
         options_with("&ca=" + certificates_->pem(certificates::ca) + more);
}

std::string redis_server::unix_url(int db, const std::string& more) const {
  return "redis+unix://" + directory_.file("redis.sock") + options_with("&db=" + std::to_string(db) + more);
}

resp redis_server::ask(const std::vector<std::string>& words, int db) const {
  redis_link link(port());
  if (db != 0) {
    (void)link.ask({"SELECT", std::to_string(db)});
  }
  return link.ask(words);
}

std::vector<std::string> redis_server::keys_in(int db) const {
  std::vector<std::string> names = ask({"KEYS", "*"}, db).texts();
  std::sort(names.begin(), names.end());
  return names;
}

void redis_server::suspend() const { ::kill(pid_, SIGSTOP); }

void redis_server::resume() const { ::kill(pid_, SIGCONT); }

void redis_server::kill() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
}

void redis_server::start_again() {
  kill();
  launch();
}

void redis_server::start_again(std::vector<std::string> extra) {
  options_.extra = std::move(extra);
  start_again();
}

void redis_server::restart_empty() {
  kill();
  std::filesystem::remove_all(aof_directory());
  start_again();
}

/// Redis 7 keeps a snapshot and the writes since then in files of their own.
std::filesystem::path redis_server::aof_tail() const {
  for (const auto& entry : std::filesystem::directory_iterator(aof_directory())) {
    if (entry.path().string().ends_with(".incr.aof")) {
      return entry.path();
    }
  }
  throw std::runtime_error("redis-server keeps no append-only file: " + log());
}

std::uintmax_t redis_server::aof_size() const {
  // Written before it is answered, except while an earlier write is being synced.
  const auto all_is_written = [&] {
    return ask({"INFO", "persistence"}).text.find("aof_buffer_length:0\r") != std::string::npos;
  };
  if (!wait_for(all_is_written)) {
    throw std::runtime_error("redis-server does not write its append-only file: " + log());
  }
  return std::filesystem::file_size(aof_tail());
}

void redis_server::restart_with_aof_cut_to(std::uintmax_t bytes) {
  kill();
  if (const auto file = aof_tail(); std::filesystem::file_size(file) > bytes) {
    std::filesystem::resize_file(file, bytes);
  }
  start_again();
  if (!wait_for([&] { return ask({"PING"}).shown() == "PONG"; })) {
    throw std::runtime_error("redis-server does not load its data: " + log());
  }
}

}  // namespace cremone::test
