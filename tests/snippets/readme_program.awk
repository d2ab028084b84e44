# SPDX-License-Identifier: Apache-2.0
#
# Takes the C++ program out of the README: what stands between ```cpp and ```.
/^```/ { inside = ($0 == "```cpp"); next }
inside
