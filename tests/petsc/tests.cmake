# Numbers of ranks for the programs of this folder. Included by tests/CMakeLists.txt before it makes them.
set(write_matrix_RANKS "") # a tool of the program tests
set(coloring_RANKS 1 2 3 4)
set(rank_equality_RANKS 1 2 3 4 7)
set(matrix_types_RANKS 1 2 4 7)
set(life_cycle_RANKS 1 3 7)
set(new_pattern_RANKS 1 3 7)
set(failure_RANKS 1 3)
set(nested_RANKS 1 2 4)
set(low_precision_RANKS 1 3)
set(true_residuals_RANKS 1 3)
set(units_RANKS 1 3)
set(callers_RANKS 1 3 4)
set(registration_RANKS 1)
set(couplings_RANKS 1 3)
set(messages_RANKS 8)
set(unsupported_RANKS 1 2 4)
set(settings_RANKS 1 3)
set(refusals_RANKS 1 3)
set(option_table_RANKS 1 2)
set(flow_order_RANKS 1)
set(colorings_RANKS 1 2 4)
set(reinitialize_RANKS 1 2)

# PETSc frees nothing on its way out of an error, and these programs make many.
function(mcpi_no_leak_check program)
  foreach(ranks IN LISTS ${program}_RANKS)
    set_tests_properties(petsc.${program}.${ranks} PROPERTIES FAIL_REGULAR_EXPRESSION "")
    if(MCPI_SANITIZE)
      set_property(TEST petsc.${program}.${ranks} APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=fast_unwind_on_malloc=0:detect_leaks=0")
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL mcpi_no_leak_check refusals)
cmake_language(DEFER CALL mcpi_no_leak_check option_table)

# Beside the programs: manual pages of all functions and options
function(mcpi_manual_tests)
  add_test(NAME tools.manual COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/manual --check)
endfunction()
cmake_language(DEFER CALL mcpi_manual_tests)

# Programs that also run with the Kokkos backend (one rank: with two threads), and their ranks
set(kokkos_PROGRAMS rank_equality:1 rank_equality:3 failure:1 failure:3 low_precision:1 low_precision:3 true_residuals:1 true_residuals:3 units:1 units:3 couplings:1 matrix_types:1 matrix_types:2 life_cycle:1 life_cycle:3 new_pattern:3 applications:1 applications:2 nested:2 reinitialize:2)
