# SPDX-License-Identifier: Apache-2.0
# Writes a C++ file that holds the GPU kernel texts, each flattened: the dialect, then the parts
# that TEXTS/<key>.h names, in its order, each file once. Run by CMakeLists.txt as
#   cmake -D SOURCE=<src> -D TEXTS=<folder> -D DIALECT=<header> -D OUTPUT=<file> -P flatten_texts.cmake
# Lines that are comments are left out, so that a kernel is not compiled anew for a comment's sake.

# Appends the file at `path`, relative to SOURCE, and what it includes to flattened_text.
function(flatten path)
  get_property(seen GLOBAL PROPERTY flattened_files)
  if(path IN_LIST seen)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY flattened_files ${path})
  file(READ ${SOURCE}/${path} text)
  set(text "\n${text}")
  string(REGEX REPLACE "\n[ \t]*//[^\n]*" "" text "${text}")
  while(text MATCHES "\n#include \"([^\"]+)\"[^\n]*")
    set(line "${CMAKE_MATCH_0}")
    set(included ${CMAKE_MATCH_1})
    string(FIND "${text}" "${line}" position)
    string(SUBSTRING "${text}" 0 ${position} before)
    string(LENGTH "${line}" length)
    math(EXPR next "${position} + ${length}")
    string(SUBSTRING "${text}" ${next} -1 text)
    set_property(GLOBAL APPEND_STRING PROPERTY flattened_text "${before}")
    flatten(${included})
  endwhile()
  set_property(GLOBAL APPEND_STRING PROPERTY flattened_text "${text}")
endfunction()

# C++ string literals that together hold `text`: compilers need not take more than 64 KiB in one.
function(make_literals text result)
  set(literals)
  set(limit 16000)
  string(LENGTH "${text}" length)
  while(length GREATER limit)
    string(SUBSTRING "${text}" 0 ${limit} piece)
    string(FIND "${piece}" "\n" end REVERSE)
    string(SUBSTRING "${text}" 0 ${end} piece)
    string(SUBSTRING "${text}" ${end} -1 text)
    string(APPEND literals "    R\"simt(${piece})simt\",\n")
    string(LENGTH "${text}" length)
  endwhile()
  set(${result} "${literals}    R\"simt(${text})simt\",\n" PARENT_SCOPE)
endfunction()

file(GLOB files RELATIVE ${TEXTS} ${TEXTS}/*.h)
list(SORT files)
set(pieces)
set(rows)
foreach(file IN LISTS files)
  get_filename_component(key ${file} NAME_WE)
  set_property(GLOBAL PROPERTY flattened_files "")
  set_property(GLOBAL PROPERTY flattened_text "")
  file(RELATIVE_PATH path ${SOURCE} ${TEXTS}/${file})
  flatten(${DIALECT})
  flatten(${path})
  get_property(text GLOBAL PROPERTY flattened_text)
  string(REGEX REPLACE "\n\n+" "\n" text "${text}\n")
  make_literals("${text}" literals)
  string(APPEND pieces "constexpr const char* ${key}[] = {\n${literals}    nullptr,\n};\n\n")
  string(APPEND rows "    {\"${key}\", ${key}},\n")
endforeach()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
// Written by cmake/flatten_texts.cmake.
#include "backends/cuda/texts.h"

namespace lanepack::cuda {
namespace {

@pieces@constexpr Text kTexts[] = {
@rows@};

}  // namespace

TextList texts() { return {kTexts, sizeof(kTexts) / sizeof(kTexts[0])}; }

}  // namespace lanepack::cuda
]])
