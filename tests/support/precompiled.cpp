// SPDX-License-Identifier: Apache-2.0
//
// Empty: the target that precompiles the headers of all tests must have a source.
