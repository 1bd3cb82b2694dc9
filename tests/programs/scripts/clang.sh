# SPDX-License-Identifier: BSL-1.0
# needs: clang++
# processes: 3
compiler=clang++
. "${0%/*}/shared/compiler.sh"
