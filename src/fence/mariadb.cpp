// SPDX-License-Identifier: Apache-2.0
#include <cremone/fence_mariadb.hpp>
