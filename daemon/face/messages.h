/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * MESSAGE_ID= of each kind of journal record. Fixed for good: people filter by them, and the
 * message catalog explains each. The last three are kept for what can not be said yet.
 */
#pragma once

#define MESSAGE_VERDICT_WORSENED "73cab60773f446e384d84a4a64470529"
#define MESSAGE_VERDICT_RECOVERED "288cb450cd8a4c69b461c273f9ae708a"
#define MESSAGE_REMINDER "60561de554a945888387dbc6b9835697"
#define MESSAGE_LINK_MTU_CHANGED "17ae3aeec3f64d3ea1c1870e544a5f49"
#define MESSAGE_FINDING_APPEARED "a9557370138546c78d300f41b90a2b8e"
#define MESSAGE_FINDING_GONE "a58f5f23ee5b49a69d46b6fe59b5c216"
#define MESSAGE_CONFIG_REJECTED "88c33d23ff2c4d2b8eda0adb57ca0969"
#define MESSAGE_STARTED "c2462c61f37b4b4692007098a03aafe8"
#define MESSAGE_CLAMPED "db68b1e4c42d4092b0174aad0e0d704e"
#define MESSAGE_RELEASED "904911832db14f59a07e931c56bf80a5"
#define MESSAGE_CLAMP_YIELDED "93c6cf74a8854825a3e471a3d445e421"
