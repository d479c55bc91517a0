# axion_cuda_architectures(<variable> <nvcc>): what the kernels are built for where nobody says: machine code for A100,
# H100, B200 and RTX 50 (and what has their major number), as far as this nvcc knows them, and PTX of the second, from
# which a driver makes code for GPUs in between and later ones when a program starts. Machine code takes a minute of a
# processor's time an architecture to build, PTX that is there anyway nothing.
function(axion_cuda_architectures variable nvcc)
  execute_process(COMMAND "${nvcc}" --list-gpu-arch OUTPUT_VARIABLE known RESULT_VARIABLE failed ERROR_QUIET)
  set(list "")
  foreach(architecture 80 90 100 120)
    if(failed OR "${known}\n" MATCHES "compute_${architecture}[ \t\r]*\n")
      if(NOT failed OR architecture LESS 100)  # an nvcc that cannot be asked is an old one
        list(APPEND list ${architecture}-real)
      endif()
    endif()
  endforeach()
  list(TRANSFORM list REPLACE "^90-real$" "90")
  set(${variable} "${list}" PARENT_SCOPE)
endfunction()
