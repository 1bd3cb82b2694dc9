# SPDX-License-Identifier: BSL-1.0
# GoogleTest's own samples, built by tests/programs/CMakeLists.txt.
# needs: $GOOGLETEST_SAMPLES
# processes: 10
for sample in "$GOOGLETEST_SAMPLES"/googletest_sample*; do
    "$sample" --gtest_print_time=0 --gtest_brief=0 || echo "status $?"
done
