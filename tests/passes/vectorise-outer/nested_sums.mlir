// adc opt --passes=vectorise-outer{lanes=4},tidy
// A sum over two loops is in one buffer.

func.func @f(%a: memref<?x?x?xf64>, %out: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %s = scf.for %j = %c0 to %m step %c1 iter_args(%outer = %zero) -> (f64) {
      %t = scf.for %k = %c0 to %m step %c1 iter_args(%inner = %outer) -> (f64) {
        %x = memref.load %a[%j, %k, %i] : memref<?x?x?xf64>
        %y = arith.addf %inner, %x : f64
        scf.yield %y : f64
      }
      scf.yield %t : f64
    }
    memref.store %s, %out[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%a: memref<?x?x?xf64>, %out: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c4 = arith.constant 4 : index
  %0 = arith.maxsi %n, %c0 : index
  %1 = arith.floordivsi %0, %c4 : index
  %2 = arith.ceildivsi %0, %c4 : index
  scf.parallel (%arg0) = (%c0) to (%1) step (%c1) {
    %3 = arith.muli %arg0, %c4 : index
    %4 = memref.alloc() : memref<4xf64>
    scf.parallel (%lane) = (%c0) to (%c4) step (%c1) {
      memref.store %zero, %4[%lane] : memref<4xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %j = %c0 to %m step %c1 {
      scf.for %k = %c0 to %m step %c1 {
        scf.parallel (%lane_0) = (%c0) to (%c4) step (%c1) {
          %5 = arith.addi %3, %lane_0 : index
          %x = memref.load %a[%j, %k, %5] : memref<?x?x?xf64>
          %6 = memref.load %4[%lane_0] : memref<4xf64>
          %y = arith.addf %6, %x : f64
          memref.store %y, %4[%lane_0] : memref<4xf64>
          scf.reduce()
        } {adc.lanes = true}
        scf.yield
      }
      scf.yield
    }
    scf.parallel (%lane_1) = (%c0) to (%c4) step (%c1) {
      %7 = memref.load %4[%lane_1] : memref<4xf64>
      %8 = arith.addi %3, %lane_1 : index
      memref.store %7, %out[%8] : memref<?xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  scf.parallel (%arg1) = (%1) to (%2) step (%c1) {
    %9 = arith.muli %arg1, %c4 : index
    %10 = arith.subi %0, %9 : index
    %11 = memref.alloc() : memref<4xf64>
    scf.parallel (%lane_2) = (%c0) to (%c4) step (%c1) {
      memref.store %zero, %11[%lane_2] : memref<4xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %j_0 = %c0 to %m step %c1 {
      scf.for %k_0 = %c0 to %m step %c1 {
        scf.parallel (%lane_3) = (%c0) to (%c4) step (%c1) {
          %12 = arith.addi %9, %lane_3 : index
          %13 = arith.cmpi slt, %lane_3, %10 : index
          %14 = scf.if %13 -> (f64) {
            %x_0 = memref.load %a[%j_0, %k_0, %12] : memref<?x?x?xf64>
            scf.yield %x_0 : f64
          } else {
            scf.yield %zero : f64
          }
          %15 = memref.load %11[%lane_3] : memref<4xf64>
          %y_0 = arith.addf %15, %14 : f64
          memref.store %y_0, %11[%lane_3] : memref<4xf64>
          scf.reduce()
        } {adc.lanes = true}
        scf.yield
      }
      scf.yield
    }
    scf.parallel (%lane_4) = (%c0) to (%c4) step (%c1) {
      %16 = memref.load %11[%lane_4] : memref<4xf64>
      %17 = arith.addi %9, %lane_4 : index
      %18 = arith.cmpi slt, %lane_4, %10 : index
      scf.if %18 {
        memref.store %16, %out[%17] : memref<?xf64>
        scf.yield
      }
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  func.return
}
