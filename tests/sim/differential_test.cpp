// SPDX-License-Identifier: Apache-2.0
//
// The simulated Redis against the real one: random commands on few keys, so that types and values collide; by themselves, and
// through scripts.
#include "sim/both_servers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

namespace cremone::test {
namespace {

using texts = std::vector<std::string>;

/// What stands for a letter in the list of commands.
const std::map<char, texts>& pools() {
  static const std::map<char, texts> all = {
      {'K', {"a", "b", "c", "d"}},
      {'F', {"x", "y", "z", ""}},
      {'V', {"1", "-5", "abc", "", "9223372036854775807", "3.5", "some longer text\r\nof two lines", "01"}},
      {'N', {"0", "1", "2", "-1", "-2", "100", "-100", "x", "01", "9223372036854775807"}},
      {'S', {"1", "2.5", "-1", "inf", "-inf", "nan", "abc", "1e3", "0.1", "-0", "4503599627370497", ""}},
      {'R', {"1", "2.5", "(1", "-inf", "+inf", "(2.5", "(x", "(-inf", "0", ""}},
      {'T', {"1", "100", "100000", "0", "-1", "abc", "9223372036854775807", "9223372036854775"}},
      {'A', {"1700000000000", "1700000100000", "1", "0", "9999999999999"}},
      {'O', {"NX", "XX", "GT", "LT", "nx", "bogus"}},
      {'W', {"WITHSCORES", "REV", "bogus", "withscores"}},
  };
  return all;
}

/// A single capital letter stands for one of its pool.
const std::vector<texts>& commands() {
  static const std::vector<texts> all = {
      {"GET", "K"},
      {"SET", "K", "V"},
      {"SET", "K", "V", "PX", "T"},
      {"SET", "K", "V", "EX", "T"},
      {"SET", "K", "V", "PXAT", "A"},
      {"SET", "K", "V", "NX", "PX", "T"},
      {"SET", "K", "V", "XX", "KEEPTTL"},
      {"SET", "K", "V", "KEEPTTL", "PX", "T"},
      {"SET", "K", "V", "O", "GET"},
      {"SET", "K", "V", "O", "O"},
      {"MGET", "K", "K", "K"},
      {"MSET", "K", "V", "K", "V"},
      {"DEL", "K"},
      {"DEL", "K", "K"},
      {"EXISTS", "K", "K"},
      {"INCR", "K"},
      {"INCRBY", "K", "N"},
      {"PEXPIRE", "K", "T"},
      {"PEXPIRE", "K", "T", "O"},
      {"PEXPIRE", "K", "T", "O", "O"},
      {"EXPIRE", "K", "T"},
      {"EXPIRE", "K", "T", "O"},
      {"PTTL", "K"},
      {"TTL", "K"},
      {"PERSIST", "K"},
      {"GETRANGE", "K", "N", "N"},
      {"STRLEN", "K"},
      {"TYPE", "K"},
      {"HGET", "K", "F"},
      {"HMGET", "K", "F", "F"},
      {"HSET", "K", "F", "V"},
      {"HSET", "K", "F", "V", "F", "V"},
      {"HDEL", "K", "F", "F"},
      {"HGETALL", "K"},
      {"HLEN", "K"},
      {"HEXISTS", "K", "F"},
      {"ZADD", "K", "S", "F"},
      {"ZADD", "K", "S", "F", "S", "F"},
      {"ZADD", "K", "NX", "S", "F"},
      {"ZADD", "K", "XX", "CH", "S", "F"},
      {"ZADD", "K", "XX", "NX", "S", "F"},
      {"ZREM", "K", "F", "F"},
      {"ZRANGE", "K", "N", "N"},
      {"ZRANGE", "K", "0", "-1", "WITHSCORES"},
      {"ZRANGE", "K", "N", "N", "W"},
      {"ZRANGEBYSCORE", "K", "R", "R"},
      {"ZRANGEBYSCORE", "K", "R", "R", "WITHSCORES", "LIMIT", "N", "N"},
      {"ZRANGEBYSCORE", "K", "R", "R", "W"},
      {"ZRANK", "K", "F"},
      {"ZSCORE", "K", "F"},
      {"ZCARD", "K"},
      {"ZCOUNT", "K", "R", "R"},
      {"TIME"},
      {"PING"},
      {"PING", "V"},
      {"ECHO", "V"},
      {"SELECT", "0"},
      {"SELECT", "x"},
      {"PUBLISH", "F", "V"},
      {"PUBSUB", "NUMSUB", "F", "F"},
      {"FLUSHDB", "bogus"},
  };
  return all;
}

std::vector<std::string> drawn(chooser& choose) {
  texts words = choose.one_of(commands());
  for (std::string& word : words) {
    if (word.size() == 1 && pools().contains(word[0])) {
      word = choose.one_of(pools().at(word[0]));
    }
  }
  if (choose.once_in(30)) {
    words.pop_back();
  }
  if (choose.once_in(30)) {
    words.emplace_back("more");
  }
  if (!words.empty() && choose.once_in(10)) {
    std::transform(words[0].begin(), words[0].end(), words[0].begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return words.empty() ? texts{"PING"} : words;
}

void pass_time(both_servers& both, chooser& choose) {
  if (choose.once_in(8)) {
    both.move_clock(std::chrono::milliseconds(choose.below(150)));
  } else if (choose.once_in(60)) {
    both.move_clock(-std::chrono::milliseconds(choose.below(1000)));
  }
}

texts wrapped(const char* script, texts words) {
  words.insert(words.begin(), {"EVAL", script, "0"});
  return words;
}

TEST(SimulatedRedis, AnswersRandomCommandsAsTheRealOne) {
  both_servers both;
  for (std::uint64_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) {
    chooser choose(seed);
    both.start_over(seed);
    for (int i = 0; i < 400; ++i) {
      both.ask(drawn(choose));
      pass_time(both, choose);
    }
    both.compare();
  }
}

TEST(SimulatedRedis, RunsRandomCommandsFromScriptsAsTheRealOne) {
  both_servers both;
  const std::vector<const char*> scripts = {
      "return redis.call(unpack(ARGV))",
      "return redis.pcall(unpack(ARGV))",
      "local a = redis.pcall(unpack(ARGV))\nif type(a) == 'table' and a.err then return a.err end\nreturn "
      "{type(a), a}",
      "return {pcall(redis.call, unpack(ARGV))}",
      "redis.call('SET', 'a', 'written')\n\nreturn {redis.call(unpack(ARGV)), redis.call('GET', 'a')}",
      "#!lua flags=allow-oom\nlocal n = {}\nfor i, v in ipairs(ARGV) do n[i] = tonumber(v) or v end\nreturn "
      "redis.call(unpack(n))"};
  for (std::uint64_t seed = 101; seed <= 115 && !::testing::Test::HasFailure(); ++seed) {
    chooser choose(seed);
    both.start_over(seed);
    for (int i = 0; i < 300; ++i) {
      both.ask(wrapped(choose.one_of(scripts), drawn(choose)));
      pass_time(both, choose);
    }
    both.compare();
  }
}

TEST(SimulatedRedis, TreatsValuesAndErrorsOfScriptsAsTheRealOne) {
  both_servers both;
  both.ask({"HSET", "h", "f", "v"});
  for (const char* const script :
       {"return redis.call('GET','h')",
        "return redis.pcall('GET','h')",
        "return redis.call('NOPE')",
        "return redis.pcall('NOPE')",
        "return redis.call('GET')",
        "return redis.call()",
        "return redis.call({})",
        "return redis.pcall(true)",
        "return redis.call('SUBSCRIBE','a')",
        "return redis.pcall('EVAL','return 1',0)",
        "error('x')",
        "\n\nerror({err='MY x'})",
        "error({err='x'})",
        "error(5)",
        "error('two\\r\\nlines')",
        "error({err='two\\nlines'})",
        "local x=nil; return x.y",
        "return {err='A b'}",
        "return {err='nocode'}",
        "return {err='-A b\\r\\nc'}",
        "return {err=5}",
        "return {ok='fine\\r\\nx'}",
        "return {ok=5}",
        "return redis.error_reply('abc')",
        "return redis.error_reply('-ABC d')",
        "return redis.error_reply('ABC d')",
        "return redis.error_reply(5)",
        "return redis.status_reply('abc')",
        "return redis.status_reply()",
        "x=1",
        "return x",
        "return y.z",
        "string.foo=1",
        "rawset(_G,'x',1)",
        "setmetatable(_G,{})",
        "KEYS=1",
        "KEYS[1]=2 return KEYS",
        "return KEYS",
        "return {1,2,nil,4}",
        "return 3.99",
        "return -3.99",
        "return {1.5,'a',true,false,{1}}",
        "return true",
        "return false",
        "return nil",
        "return",
        "return 1e300",
        "return 0/0",
        "return -9.3e18",
        "return 9007199254740993",
        "return print",
        "return {redis.call('GET','none'),1}",
        "return redis.sha1hex('')",
        "return redis.sha1hex()",
        "return redis.call('PING').ok",
        "return redis.call('PING')",
        "return redis.call('SET','n',1/3)",
        "return redis.call('GET','n')",
        "return redis.call('SET','n',1e20)",
        "return redis.call('GET','n')",
        "return {pcall(function() error({err='E x'}) end)}",
        "return {pcall(function() error({e='E x'}) end)}",
        "return {pcall(error,'a')}",
        "return {pcall(error)}",
        "return {pcall(function(...) return ... end, 1, 2)}",
        "return {xpcall(function() error('q') end, function(e) return e end)}",
        "local ok,e=pcall(redis.call,'GET','h') return e",
        "syntax error",
        "return 1 2",
        "if x then",
        "return _VERSION",
        "return os",
        "return io",
        "return require",
        "return redis.log(1,'x')",
        "#!lua\nreturn 1",
        "#!lua flags=allow-oom\n\nerror('x')",
        "#!js\nreturn 1",
        "#!lua flags=allow-oom",
        "local function f() redis.call('GET','h') end\nf()",
        "return redis.pcall('GET','h').err",
        "return {{err='X y'},{ok='z'}}",
        "return redis.call('CONFIG','GET','save')",
        "return redis.call('ROLE')",
        "return redis.call('PUBSUB','BOGUS')",
        "return redis.call('PUBSUB')",
        "return redis.call('CONFIG','BOGUS','x')",
        "return redis.call('INFO','nosuch')",
        "return redis.nosuch",
        "return {1,{2,{3}}}",
        "return string.format('%016d',2^53)",
        "return unpack({1,2})",
        "return 'a',2",
        "return ('x'):rep(3)",
        "return tostring(nil)",
        "return {string.find('a.b', '.', 1, true)}",
        "return table.concat({1,2,'x'}, ',')",
        "return tostring(12345678901234567)",
        "return loadstring('return 1 + 1')()",
        "return loadstring('x = 1')()",
        "return {tonumber('0x10'), tonumber('1e3'), tonumber('z', 36)}",
        "local t = setmetatable({}, {__index = function() return 7 end}) return {t.x, t[1]}",
        "return redis.call('EXISTS', 'h', nil)",
        "return select('#', redis.call('DEL', 'none'))",
        "return coroutine.wrap(function() return redis.call('TYPE', 'h') end)()"}) {
    both.ask({"EVAL", script, "0"});
  }
  both.compare();
}

TEST(SimulatedRedis, RefusesNonsenseAsTheRealOne) {
  both_servers both;
  const std::vector<texts> asked = {
      {"NOSUCH"},
      {"NOSUCH", "a", "b c", std::string(200, 'x'), "d"},
      {std::string(200, 'y')},
      {"two\r\nlines"},
      {"GET"},
      {"CONFIG"},
      {"CONFIG", "BOGUS"},
      {"config", "get"},
      {"CONFIG|GET", "save"},
      {"SCRIPT", "bogus", "x"},
      {"SCRIPT", "EXISTS"},
      {"SCRIPT", "EXISTS", "x", std::string(40, '0')},
      {"SCRIPT", "LOAD", "return 1"},
      {"SCRIPT", "EXISTS", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"},
      {"EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"},
      {"SCRIPT", "FLUSH", "x"},
      {"SCRIPT", "FLUSH", "sync"},
      {"EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"},
      {"SCRIPT", "LOAD", "return ("},
      {"EVAL", "return 1"},
      {"EVAL", "return 1", "x"},
      {"EVAL", "return 1", "1"},
      {"EVAL", "return 1", "-1"},
      {"EVALSHA", "abc", "x"},
      {"EVALSHA", std::string(40, '0'), "0"},
      {"EVAL", "return {KEYS, ARGV}", "2", "a", "b", "c"},
      {"PING", "a", "b"},
      {"AUTH", "x"},
      {"AUTH", "default", "x"},
      {"AUTH", "ann", "x"},
      {"AUTH", "a", "b", "c"},
      {"ROLE"},
      {"SELECT", "-1"},
      {"CONFIG", "GET", "appendfsync"},
      {"CONFIG", "GET", "min-replicas-to*"},
      {"CONFIG", "GET", "no-appendfsync-on-rewrite"},
      {"CONFIG", "GET", "nosuch"},
      {"SCAN"},
      {"SCAN", "x"},
      {"SCAN", "0", "COUNT", "0"},
      {"SCAN", "0", "COUNT", "x"},
      {"SCAN", "0", "COUNT"},
      {"SCAN", "0", "BOGUS", "1"},
      {"SET", "a", "1"},
      {"SCAN", "0", "MATCH", "[a-c]", "TYPE", "string"},
      {"SCAN", "0", "MATCH", "[^a]"},
      {"SCAN", "0", "MATCH", "?", "COUNT", "100"},
      {"SCAN", "0", "TYPE", "hash"},
      {"PUBSUB", "NUMSUB"},
      {"UNSUBSCRIBE"},
      {"FLUSHALL", "ASYNC"},
      {"DBSIZE"},
      {"INFO", "nosuch"},
  };
  for (const texts& words : asked) {
    both.ask(words);
  }
}

}  // namespace
}  // namespace cremone::test
