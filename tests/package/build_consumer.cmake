# SPDX-License-Identifier: BSL-1.0
# Configures, builds and tests one consumer project in an empty folder.
# Variables: source, build, generator, cc, cxx, ctest, options (arguments for its configuration).
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${build})
run(${CMAKE_COMMAND} -S ${source} -B ${build} -G ${generator} -DCMAKE_C_COMPILER=${cc} -DCMAKE_CXX_COMPILER=${cxx}
  -DCMAKE_BUILD_TYPE= -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${options})
run(${CMAKE_COMMAND} --build ${build} --parallel 2)
run(${CMAKE_COMMAND} -E chdir ${build} ${ctest} --output-on-failure)
