// SPDX-License-Identifier: Apache-2.0
//
// A directory for one benchmark, gone with it, on the file system of the system's temporary directory (TMPDIR); and the
// figures that several of them give.
#pragma once

#include <benchmark/benchmark.h>

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace cremone::bench {

class scratch {
 public:
  scratch() : path_(std::filesystem::temp_directory_path() / "cremone-bench-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "mkdtemp " + path_);
    }
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The value below which this share of them lies, 0 to 1.
[[nodiscard]] inline double percentile(std::vector<double> values, double share) {
  if (values.empty()) {
    return 0;
  }
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

[[nodiscard]] inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

}  // namespace cremone::bench
