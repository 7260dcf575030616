// How much of a sweep a test does: under the sanitizers, which take fifty times as long, a part of the cases.
#pragma once

#ifdef __SANITIZE_ADDRESS__
constexpr int kEvery = 13;
#else
constexpr int kEvery = 1;
#endif
