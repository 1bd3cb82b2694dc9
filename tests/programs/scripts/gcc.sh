# SPDX-License-Identifier: BSL-1.0
# needs: g++
# processes: 3
compiler=g++
. "${0%/*}/shared/compiler.sh"
