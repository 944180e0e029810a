// SPDX-License-Identifier: Apache-2.0
// glibc 2.32 and 2.34 moved libpthread and libdl into libc and gave their functions new versions.
// Asking for the first version of each keeps the library loadable from glibc 2.28 on, whatever it
// was built with. CMake chooses this folder, or its neighbours, by platform.
#ifndef LANEPACK_CORE_PLATFORM_SYMBOL_VERSIONS_H_
#define LANEPACK_CORE_PLATFORM_SYMBOL_VERSIONS_H_

__asm__(".symver pthread_create,pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask,pthread_sigmask@GLIBC_2.2.5");
__asm__(".symver pthread_attr_setstacksize,pthread_attr_setstacksize@GLIBC_2.2.5");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");

#endif  // LANEPACK_CORE_PLATFORM_SYMBOL_VERSIONS_H_
