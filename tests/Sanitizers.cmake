# The tests of SPMD_TSAN_TESTS and SPMD_ASAN_TESTS once more, under the sanitizers.

spmd_test_flavour(tsan -O0)
spmd_sanitize(spmd_test_tsan INTERFACE thread)
spmd_test_flavour(asan -O0)
spmd_sanitize(spmd_test_asan INTERFACE address,undefined)

# ThreadSanitizer of older compilers does not start where the kernel spreads addresses over more than 28 bits.
if(EXISTS /proc/sys/vm/mmap_rnd_bits)
  file(STRINGS /proc/sys/vm/mmap_rnd_bits bits)
  if(bits GREATER 28)
    set(SPMD_SANITIZER_LAUNCHER setarch -R)
  endif()
endif()

foreach(name IN LISTS SPMD_TSAN_TESTS)
  spmd_add_test(${name}_tsan ${name}.cpp tsan)
endforeach()
foreach(name IN LISTS SPMD_ASAN_TESTS)
  spmd_add_test(${name}_asan ${name}.cpp asan)
endforeach()
