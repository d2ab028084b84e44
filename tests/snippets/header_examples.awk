# SPDX-License-Identifier: Apache-2.0
#
# Takes the examples out of the comments of headers: lines that begin with three slashes and five blanks. A
# coroutine stands alone; anything else becomes the body of a function.
function flush() {
  if (block == "") return
  if (block ~ /awaitable</) print block
  else print "void snippet_" ++n "() {\n" block "}\n"
  block = ""
}
/^ *\/\/\/     / { sub(/^ *\/\/\/     /, ""); block = block $0 "\n"; next }
{ flush() }
END { flush() }
