# A room is one folder below src/plait: one static library, one test binary, and the list of rooms it may include.
# The DEPS given here are the only statement of that list; tools/check_rooms.py reads them back from the file that
# plait_finish_rooms() writes and compares them with the #include lines.

add_library(plait_options INTERFACE)
target_compile_features(plait_options INTERFACE cxx_std_20)
# No contraction: a multiply and an add become one fma only where a kernel says so, so that bits do not depend on the
# compiler's mood (architecture, numerics).
target_compile_options(plait_options INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers -ffp-contract=off)
if(PLAIT_WERROR)
    target_compile_options(plait_options INTERFACE -Werror)
endif()
if(PLAIT_SANITIZE)
    target_compile_options(plait_options INTERFACE -fsanitize=${PLAIT_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
    target_link_options(plait_options INTERFACE -fsanitize=${PLAIT_SANITIZE})
endif()
target_include_directories(plait_options INTERFACE ${CMAKE_SOURCE_DIR}/src)

find_program(CCACHE ccache)
if(CCACHE)
    # Neither the build folder nor where the clone lies makes an object file another one.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
                                    ${CCACHE})
endif()

# plait_room(NAME <room path with _ for /> SOURCES ... [DEPS rooms...] [LINK libraries...] [TESTS files...]
#            [TEST_DEPS rooms and libraries only the tests use])
function(plait_room)
    cmake_parse_arguments(ROOM "" "NAME" "SOURCES;DEPS;LINK;TESTS;TEST_DEPS" ${ARGN})
    add_library(plait_${ROOM_NAME} STATIC ${ROOM_SOURCES})
    set(room_libraries ${ROOM_DEPS})
    list(TRANSFORM room_libraries PREPEND plait_)
    target_link_libraries(plait_${ROOM_NAME} PUBLIC plait_options ${room_libraries} PRIVATE ${ROOM_LINK})
    list(JOIN ROOM_DEPS " " deps_text)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    set_property(GLOBAL APPEND PROPERTY PLAIT_ROOMS "${folder}: ${deps_text}")
    if(PLAIT_TESTS AND ROOM_TESTS)
        add_executable(${ROOM_NAME}_test ${ROOM_TESTS})
        target_link_libraries(${ROOM_NAME}_test PRIVATE plait_${ROOM_NAME} ${ROOM_LINK} ${ROOM_TEST_DEPS} GTest::gmock
                                                        GTest::gtest_main)
        target_compile_definitions(${ROOM_NAME}_test PRIVATE PLAIT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
        gtest_discover_tests(${ROOM_NAME}_test TEST_PREFIX ${ROOM_NAME}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
    endif()
endfunction()

function(plait_finish_rooms)
    get_property(rooms GLOBAL PROPERTY PLAIT_ROOMS)
    list(JOIN rooms "\n" text)
    file(WRITE ${CMAKE_BINARY_DIR}/rooms.txt "${text}\n")
    if(PLAIT_TESTS)
        add_test(NAME rooms.includes COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tools/check_rooms.py
                                             ${CMAKE_BINARY_DIR}/rooms.txt ${CMAKE_SOURCE_DIR})
    endif()
endfunction()
